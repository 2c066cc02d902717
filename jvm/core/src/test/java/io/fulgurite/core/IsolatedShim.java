package io.fulgurite.core;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** The shim's classes in a class loader of their own, with parts replaced: what a process with other jars would load. */
final class IsolatedShim implements AutoCloseable {
    private static final Path CLASSES = Path.of("target", "classes");
    private static final Path SOURCES = Path.of("src", "main", "java");

    private final URLClassLoader loader;

    private IsolatedShim(Path... folders) throws MalformedURLException {
        URL[] urls = new URL[folders.length];
        for (int i = 0; i < folders.length; i++) {
            urls[i] = folders[i].toUri().toURL();
        }
        loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
    }

    static IsolatedShim unchanged() throws IOException {
        return new IsolatedShim(CLASSES);
    }

    /** As built for another version. */
    static IsolatedShim ofVersion(String version, Path scratch) throws IOException {
        Path properties = scratch.resolve("io/fulgurite/core/build.properties");
        Files.createDirectories(properties.getParent());
        Files.writeString(properties, "version=" + version + "\nbuild=dev\n");
        return new IsolatedShim(scratch, CLASSES);
    }

    /** Compiled from sources in which one piece of text is another. */
    static IsolatedShim withSource(String file, String from, String to, Path scratch) throws IOException {
        Path copies = Files.createDirectories(scratch.resolve("sources"));
        Path classes = Files.createDirectories(scratch.resolve("classes"));
        try (Stream<Path> sources = Files.list(SOURCES.resolve("io/fulgurite/core"))) {
            for (Path source : sources.toList()) {
                String text = Files.readString(source);
                if (source.endsWith(file)) {
                    if (!text.contains(from)) {
                        throw new IllegalArgumentException(file + " does not contain: " + from);
                    }
                    text = text.replace(from, to);
                }
                Files.writeString(copies.resolve(source.getFileName()), text);
            }
        }
        List<String> arguments;
        try (Stream<Path> sources = Files.list(copies)) {
            arguments = Stream.concat(Stream.of("-d", classes.toString()), sources.map(Path::toString)).toList();
        }
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        if (status != 0) {
            throw new IllegalArgumentException("the changed sources do not compile");
        }
        return new IsolatedShim(classes, CLASSES);
    }

    ClassLoader loader() {
        return loader;
    }

    /** Loads the library from a copy, since a file can be loaded by one class loader only. */
    void load(Path scratch) throws Throwable {
        Path copy = scratch.resolve("copy-" + System.identityHashCode(this) + ".so");
        Files.copy(Path.of(System.getProperty(NativeLibrary.PATH)), copy);
        UnaryOperator<String> settings = key -> key.equals(NativeLibrary.PATH) ? copy.toString() : null;
        call("NativeLibrary", "load", new Class<?>[] {UnaryOperator.class}, settings);
    }

    /** Calls a public static method; exceptions come out as thrown. */
    Object call(String className, String method, Class<?>[] types, Object... arguments) throws Throwable {
        try {
            return loader.loadClass("io.fulgurite.core." + className).getMethod(method, types).invoke(null, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    String handshake(String shim) throws Throwable {
        byte[] bytes = shim.getBytes(StandardCharsets.UTF_8);
        return new String((byte[]) call("Native", "handshake", new Class<?>[] {byte[].class}, (Object) bytes), StandardCharsets.UTF_8);
    }

    /** What `run` throws, as text; class names first, since the classes are not this loader's. */
    static String failure(Executable run) {
        try {
            run.run();
        } catch (Throwable e) {
            return e.toString();
        }
        throw new AssertionError("nothing was thrown");
    }

    interface Executable {
        void run() throws Throwable;
    }

    @Override
    public void close() throws IOException {
        loader.close();
    }
}
