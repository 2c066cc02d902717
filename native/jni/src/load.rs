//! What happens when the JVM loads the library.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
};

use fulgurite_operators::panics;
use jni::{
    Env, JavaVM, jni_str,
    refs::LoaderContext,
    strings::JNIString,
    sys::{JNI_VERSION_1_8, jint},
};

use crate::{
    java::{FulguriteExceptionAPI, HostAPI, InputStreamAPI, OutputStreamAPI},
    shim::ShimAPI,
};

/// Binds all Java classes, methods and natives, so that a jar of another build is refused at once.
///
/// Refusing means a pending `LinkageError`: the JVM hides an error code behind a sentence about versions of the JNI.
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnLoad(vm: *mut jni::sys::JavaVM, _reserved: *mut c_void) -> jint {
    // A panic that left this function would abort the JVM.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        panics::install_hook();
        warn_of_files();
        fulgurite_matrix::memory::keep_freed_memory();
        fulgurite_matrix::memory::keep_freed_blocks();
        fulgurite_matrix::memory::ballast::hold();
        // SAFETY: the JVM passes its own, valid pointer.
        let vm = unsafe { JavaVM::from_raw(vm) };
        vm.with_top_local_frame(|env| -> jni::errors::Result<()> {
            if let Err(error) = bind(env) {
                refuse(env, &error.to_string());
            }
            Ok(())
        })
    }));
    match outcome {
        Ok(Ok(())) => JNI_VERSION_1_8,
        // No way to reach Java, or a panic on the way.
        Ok(Err(_)) => jni::sys::JNI_ERR,
        Err(payload) => {
            let reason = panics::error(payload).to_string();
            let told = catch_unwind(|| {
                JavaVM::singleton()?.with_top_local_frame(|env| -> jni::errors::Result<()> {
                    refuse(env, &reason);
                    Ok(())
                })
            });
            if matches!(told, Ok(Ok(()))) {
                JNI_VERSION_1_8
            } else {
                jni::sys::JNI_ERR
            }
        }
    }
}

/// Warnings about files that are read here go where the JVM's logs go by default. Another library's subscriber stays.
fn warn_of_files() {
    let filter = tracing_subscriber::EnvFilter::new("off,fulgurite_matrix::io=warn");
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .try_init();
}

fn bind(env: &mut Env<'_>) -> jni::errors::Result<()> {
    // In `JNI_OnLoad`, `FindClass` asks the loader of the class that called `System.load`. The thread's context loader,
    // which bindings ask first otherwise, may know another copy of our classes (a jar that is both in Spark's
    // folder and in --jars): natives bound to that one would be missing where they are called.
    let native = env.find_class(jni_str!("io/fulgurite/core/Native"))?;
    let loader = native.get_class_loader(env)?;
    let context = if loader.is_null() {
        LoaderContext::None
    } else {
        LoaderContext::Loader(&loader)
    };
    FulguriteExceptionAPI::get(env, &context)?;
    HostAPI::get(env, &context)?;
    OutputStreamAPI::get(env, &context)?;
    InputStreamAPI::get(env, &context)?;
    ShimAPI::get(env, &context)?;
    Ok(())
}

fn refuse(env: &mut Env<'_>, reason: &str) {
    env.exception_clear();
    let text = format!(
        "the native library is Fulgurite {}, and the jar that loads it is of another build: {reason}",
        crate::handshake::VERSION
    );
    // `throw_new` answers with the error that says that an exception is pending now.
    let _ = env.throw_new(jni_str!("java/lang/LinkageError"), JNIString::from(text));
}
