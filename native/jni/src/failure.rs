//! Errors on their way to Java.

use std::any::Any;

use fulgurite_error::{Error, Position};
use fulgurite_operators::panics;
use jni::{
    Env,
    errors::ErrorPolicy,
    jni_str,
    objects::{JString, JThrowable},
    refs::Global,
    strings::JNIString,
};

use crate::java::FulguriteException;

/// Why a native method fails.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(Error),
    /// A call of the JNI failed. A Java exception that is pending says more.
    Jni(jni::errors::Error),
    /// `Host` threw: the same object goes back to Java. The error says where the script stood.
    Thrown(Global<JThrowable<'static>>, Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Failure::Jni(error)
    }
}

/// Throws `FulguriteException` for errors and panics, and lets Java exceptions that are under way pass.
pub(crate) struct ThrowFulguriteException;

impl<T: Default> ErrorPolicy<T, Failure> for ThrowFulguriteException {
    type Captures<'local: 'method, 'method> = ();

    fn on_error<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _captures: &mut (),
        failure: Failure,
    ) -> jni::errors::Result<T> {
        match failure {
            _ if env.exception_check() => {}
            Failure::Error(error) => throw(env, &error),
            Failure::Jni(error) => throw(
                env,
                &Error::internal(format!("a call of the JVM failed: {error}")),
            ),
            Failure::Thrown(exception, error) => {
                // Where the script stood is worth having, but not worth losing the exception for.
                if error.position().is_some() {
                    let place = exception_of(env, &error)
                        .and_then(|place| exception.add_suppressed(env, &place));
                    if place.is_err() {
                        env.exception_clear();
                    }
                }
                // `throw` answers with the error that says that an exception is pending now.
                let _ = env.throw(&exception);
            }
        }
        Ok(T::default())
    }

    fn on_panic<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _captures: &mut (),
        payload: Box<dyn Any + Send>,
    ) -> jni::errors::Result<T> {
        let error = panics::error(payload);
        if !env.exception_check() {
            throw(env, &error);
        }
        Ok(T::default())
    }
}

/// Leaves a `FulguriteException` pending; if the JVM cannot make one, an `InternalError` with the same text.
fn throw(env: &mut Env<'_>, error: &Error) {
    match exception_of(env, error) {
        Ok(exception) => {
            let _ = env.throw(&exception);
        }
        // Out of memory, say: the JVM's own exception is pending.
        Err(_) if env.exception_check() => {}
        Err(_) => {
            let _ = env.throw_new(
                jni_str!("java/lang/InternalError"),
                JNIString::from(error.to_string()),
            );
        }
    }
}

fn exception_of<'local>(
    env: &mut Env<'local>,
    error: &Error,
) -> jni::errors::Result<JThrowable<'local>> {
    let optional = |env: &mut Env<'local>, text: Option<&str>| match text {
        Some(text) => JString::new(env, text),
        None => Ok(JString::null()),
    };
    let kind = JString::new(env, error.kind().name())?;
    let message = JString::new(env, error.to_string())?;
    let operator = optional(env, error.operator())?;
    let position = error.position();
    let file = optional(env, position.map(|position| position.source.name.as_str()))?;
    let number = |part: fn(&Position) -> u32| {
        position.map_or(0, |position| {
            i32::try_from(part(position)).unwrap_or(i32::MAX)
        })
    };
    let (line, column) = (number(|p| p.line), number(|p| p.column));
    FulguriteException::new(env, &kind, &message, &operator, &file, line, column)
        .map(JThrowable::from)
}
