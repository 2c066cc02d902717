//! Scripts and requests, run in this process and over stripes.

mod common;

mod dag;
mod dialects;
mod distributed;
mod distributed_rows;
mod distributed_selection;
mod distributed_templates;
mod file_systems;
mod files;
mod forms;
mod frames;
mod functions;
mod generated;
mod groups;
mod interrupts;
mod large_products;
mod later_reads;
mod layers;
mod lists;
mod non_finite;
mod one_hot;
mod parfor;
mod parfor_jobs;
mod parfor_remote;
mod parfor_results;
mod parfor_slices;
mod planning;
mod programs;
mod random_programs;
mod ranges_in_place;
mod repeated;
mod scalar_code;
mod stack;
mod transfers;
mod wide_products;
