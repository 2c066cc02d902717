//! The native methods of `jvm/core/src/main/java/io/fulgurite/core/Native.java`, mirrored.
//!
//! Declarations stand as the Java sources have them, names of parameters included; the test below renders
//! the sources in this form and compares.

#![expect(
    clippy::too_many_arguments,
    reason = "as the Java sources declare them"
)]

use jni::bind_java_type;

use crate::java::{Host, InputStream, OutputStream};

bind_java_type! {
    pub(crate) Shim => io.fulgurite.core.Native,
    type_map = {
        Host => io.fulgurite.core.Host,
        OutputStream => java.io.OutputStream,
        InputStream => java.io.InputStream,
    },
    native_methods_error_policy = crate::failure::ThrowFulguriteException,
    // Registered when the library loads; JNI_OnLoad is the only symbol.
    native_methods_export = false,
    native_methods {
        static fn handshake(shim: jbyte[]) -> jbyte[],
        static fn call(request: jbyte[], host: Host) -> jbyte[],
        static fn interrupt(run: jlong) -> jboolean,
        static fn serve(callers: jlong, number: jint),
        static fn import_blocks(array: jlong, schema: jlong) -> jlong,
        static fn export_blocks(handle: jlong, array: jlong, schema: jlong),
        static fn task_memory(task: jbyte[], combining: jboolean, stripes: jlong[], broadcasts: jlong[]) -> jlong,
        static fn run_task(run: jlong, task: jbyte[], stripes: jlong[], broadcasts: jlong[]) -> jlong[],
        static fn run_combined(run: jlong, task: jbyte[], combine: jbyte[], before: jlong, stripes: jlong[], broadcasts: jlong[]) -> jlong,
        static fn combine(combine: jbyte[], left: jlong, right: jlong) -> jlong,
        static fn describe(handle: jlong) -> jbyte[],
        static fn look(handle: jlong) -> jlong[],
        static fn non_zeros(handle: jlong) -> jlong,
        static fn checksum(handle: jlong) -> jlong,
        static fn place(handle: jlong, row_offset: jlong) -> jlong,
        static fn join(handles: jlong[]) -> jlong,
        static fn join_blocks(handles: jlong[], numbers: jlong[]) -> jlong,
        static fn part(handle: jlong, from: jlong, until: jlong) -> jlong,
        static fn write(handle: jlong, output: OutputStream),
        static fn read(input: InputStream) -> jlong,
        static fn map(path: jbyte[], head: jbyte[], offset: jlong, length: jlong) -> jlong,
        static fn parse_text(format: jbyte[], text: jbyte[], length: jint) -> jbyte[],
        static fn spread_cells(how: jbyte[], cells: jlong) -> jlong[],
        static fn gather_cells(how: jbyte[], cells: jlong[]) -> jbyte[],
        static fn format_text(handle: jlong, format: jbyte[], output: OutputStream),
        static fn relate(plan: jbyte[], array: jlong, schema: jlong, result_array: jlong, result_schema: jlong),
        static fn release(handle: jlong),
    },
}

#[cfg(test)]
mod tests {
    const SHIM: &str = include_str!("shim.rs");
    const JAVA: &str = include_str!("java.rs");

    /// The lines of a `{ … }` block of a file that declare functions.
    fn bound(file: &str, block: &str) -> Vec<String> {
        file.split(&format!("\n    {block} {{\n"))
            .nth(1)
            .and_then(|rest| rest.split("\n    },\n").next())
            .unwrap_or_default()
            .lines()
            .map(|line| line.trim().trim_end_matches(',').to_owned())
            .collect()
    }

    /// The declarations in a Java source that `select` takes, rendered as the two files have them. `select` gives what stands
    /// before the function and the part of the line from the return type on.
    fn declared(source: &str, select: fn(&str) -> Option<(&str, &str)>) -> Vec<String> {
        source
            .lines()
            .filter_map(|line| select(line.strip_prefix("    ")?))
            .map(|(qualifier, signature)| {
                let (head, parameters) = signature.split_once('(').unwrap();
                let (result, name) = head.rsplit_once(' ').unwrap_or(("void", "new"));
                let parameters: Vec<String> = parameters
                    .split(')')
                    .next()
                    .unwrap()
                    .split(", ")
                    .filter_map(|parameter| parameter.split_once(' '))
                    .map(|(java_type, name)| {
                        format!("{}: {}", snake_case(name), rust_type(java_type))
                    })
                    .collect();
                let result = match result {
                    "void" => String::new(),
                    other => format!(" -> {}", rust_type(other)),
                };
                format!(
                    "{qualifier}fn {}({}){result}",
                    snake_case(name),
                    parameters.join(", ")
                )
            })
            .collect()
    }

    fn rust_type(java: &str) -> String {
        match java {
            "String" => "JString".into(),
            "Host" | "OutputStream" | "InputStream" => java.into(),
            primitive => format!("j{primitive}"),
        }
    }

    fn snake_case(name: &str) -> String {
        name.chars().fold(String::new(), |mut out, c| {
            if c.is_uppercase() {
                out.push('_');
            }
            out.extend(c.to_lowercase());
            out
        })
    }

    macro_rules! java {
        ($class:literal) => {
            include_str!(concat!(
                "../../../jvm/core/src/main/java/io/fulgurite/core/",
                $class,
                ".java"
            ))
        };
    }

    /// Whatever is native, so that one that is not static shows as such.
    #[test]
    fn natives_are_those_of_the_java_source() {
        let natives = declared(java!("Native"), |line| {
            let (modifiers, signature) = line.split_once("native ")?;
            (!modifiers.contains('*')).then_some(match modifiers {
                "public static " => ("static ", signature),
                other => (other, signature),
            })
        });
        assert_eq!(natives.len(), 27);
        assert_eq!(bound(SHIM, "native_methods"), natives);
    }

    #[test]
    fn callbacks_are_those_of_the_java_source() {
        let callbacks = declared(java!("Host"), |line| {
            (line.ends_with(");") && !line.contains('*')).then_some(("", line))
        });
        assert_eq!(callbacks.len(), 4);
        assert_eq!(bound(JAVA, "methods"), callbacks);
    }

    #[test]
    fn the_exception_is_made_as_the_java_source_asks() {
        let constructors = declared(java!("FulguriteException"), |line| {
            line.starts_with("FulguriteException(")
                .then_some(("", line))
        });
        assert_eq!(bound(JAVA, "constructors"), constructors);
    }
}
