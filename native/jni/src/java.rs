//! The Java types that this library uses: the mirror of what `jvm/core/src/main/java/io/fulgurite/core` declares, and of
//! Java's streams.
//!
//! Declarations stand as the Java sources have them, names of parameters included; a test in [`crate::shim`] compares.

use jni::bind_java_type;

bind_java_type! {
    pub(crate) Host => io.fulgurite.core.Host,
    methods {
        fn apply(primitive: jbyte[], payload: jlong) -> jbyte[],
        fn print(line: jbyte[]),
        fn serve(callers: jlong, threads: jint),
        fn cancel(callers: jlong, number: jint),
    },
}

bind_java_type! {
    pub(crate) OutputStream => java.io.OutputStream,
    methods {
        fn write(bytes: jbyte[], offset: jint, length: jint),
    },
}

bind_java_type! {
    pub(crate) InputStream => java.io.InputStream,
    methods {
        fn read(bytes: jbyte[], offset: jint, length: jint) -> jint,
    },
}

bind_java_type! {
    pub(crate) FulguriteException => io.fulgurite.core.FulguriteException,
    is_instance_of = { JThrowable },
    constructors {
        fn new(kind: JString, message: JString, operator: JString, file: JString, line: jint, column: jint),
    },
}
