//! The code that is generated for the patterns, as it is printed.

use crate::support::{matrix_vector_chain, mlogreg_inner, sum_of_products};
use fulgurite_codegen::CompiledPlan;

#[cfg(target_arch = "x86_64")] // calls name the calling convention of the target
#[test]
fn code_is_as_reviewed() {
    for (name, plan) in [
        ("sum_of_products", sum_of_products()),
        ("matrix_vector_chain", matrix_vector_chain()),
        ("mlogreg_inner", mlogreg_inner(4)),
    ] {
        let compiled = CompiledPlan::in_pairs(&plan).unwrap();
        insta::assert_snapshot!(name, compiled.clif().unwrap());
    }
}

#[cfg(all(target_arch = "x86_64", unix))]
#[test]
fn loops_on_vectors_of_four_are_as_reviewed() {
    if !is_x86_feature_detected!("avx") {
        return; // Cranelift makes the loops there
    }
    for (name, plan) in [
        ("sum_of_products", sum_of_products()),
        ("mlogreg_inner", mlogreg_inner(4)),
    ] {
        let assembly = CompiledPlan::compile(&plan).unwrap().asm().unwrap();
        // Before them are the instructions that call them.
        let loops = &assembly[assembly.find("loop0:").unwrap()..];
        insta::assert_snapshot!(format!("{name}_loops"), loops);
    }
}

#[cfg(target_arch = "x86_64")] // instructions are named
#[test]
fn assembly_is_that_of_this_machine() {
    let compiled = CompiledPlan::compile(&sum_of_products()).unwrap();
    let assembly = compiled.asm().unwrap();
    assert!(assembly.contains("mulpd"), "{assembly}");
    assert!(assembly.contains("ret"), "{assembly}");
}
