package io.fulgurite.core;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.Properties;
import java.util.function.UnaryOperator;

/**
 * Finds and loads the native library, once in a process.
 *
 * <p>The first of these that is there is taken, and has to load:
 * <ol>
 *   <li>the file named by {@value #PATH};
 *   <li>{@code libfulgurite_jni.so} in a folder of {@code java.library.path};
 *   <li>the copy in this jar, extracted to {@value #TMPDIR} (default: {@code java.io.tmpdir}) under a unique name, so that
 *       applications that share a machine, or class loaders that share a JVM, do not meet.
 * </ol>
 *
 * <p>Nothing is loaded by a static initialiser: one that is interrupted (by a killed task, say) would leave the class
 * unusable for the life of the process. A load that failed may be tried again.
 */
public final class NativeLibrary {
    /** The setting that names the library file itself. */
    public static final String PATH = "fulgurite.native.path";

    /** The setting that names the folder to extract the bundled library to; it must allow programs to be run. */
    public static final String TMPDIR = "fulgurite.native.tmpdir";

    private static final String NAME = "fulgurite_jni";

    private static volatile boolean loaded;
    private static volatile FulguriteException failure;

    private NativeLibrary() {}

    /** Loads the library, configured by system properties; does nothing when it is loaded. */
    public static void load() {
        load(System::getProperty);
    }

    /**
     * Loads the library; does nothing when it is loaded.
     *
     * @param settings gives the value of {@link #PATH} and {@link #TMPDIR}, null where it is not set
     * @throws FulguriteException saying what was tried and what to do; the reason is its cause
     */
    public static void load(UnaryOperator<String> settings) {
        if (loaded) {
            return;
        }
        synchronized (NativeLibrary.class) {
            if (loaded) {
                return;
            }
            try {
                locateAndLoad(settings, Platform.current());
                Native.handshake(shim());
                loaded = true;
                failure = null;
            } catch (FulguriteException e) {
                failure = e;
                throw e;
            }
        }
    }

    public static boolean isLoaded() {
        return loaded;
    }

    /** Why the last attempt to load failed; empty when none did or a later one succeeded. */
    public static Optional<FulguriteException> lastFailure() {
        return Optional.ofNullable(failure);
    }

    static void locateAndLoad(UnaryOperator<String> settings, Platform platform) {
        String library = System.mapLibraryName(NAME);
        String path = settings.apply(PATH);
        if (path != null && !path.isEmpty()) {
            Path file = Path.of(path);
            if (!Files.isRegularFile(file)) {
                throw failed("argument", PATH + " is '" + path + "', which is not a file",
                        "let it name " + library + " itself, or unset it to use the one in the jar", null);
            }
            open(file, "correct or unset " + PATH);
            return;
        }
        Optional<Path> onLibraryPath = onLibraryPath(library);
        if (onLibraryPath.isPresent()) {
            open(onLibraryPath.get(), "it was found through java.library.path: remove it there to use the one in the jar");
            return;
        }
        Path extracted = extract(settings.apply(TMPDIR), platform, library);
        open(extracted, "if its folder forbids programs (a noexec mount), name another one with " + TMPDIR
                + "; or name a library built for this machine with " + PATH);
    }

    private static Optional<Path> onLibraryPath(String library) {
        for (String folder : System.getProperty("java.library.path", "").split(java.io.File.pathSeparator)) {
            Path file = Path.of(folder, library);
            if (!folder.isEmpty() && Files.isRegularFile(file)) {
                return Optional.of(file);
            }
        }
        return Optional.empty();
    }

    private static Path extract(String folder, Platform platform, String library) {
        String resource = platform.resource(library);
        Path target = Path.of(folder == null || folder.isEmpty() ? System.getProperty("java.io.tmpdir") : folder);
        try (InputStream bundled = NativeLibrary.class.getResourceAsStream(resource)) {
            if (bundled == null) {
                throw failed("argument", "no native library for " + platform + ": this jar has no " + resource
                                + ", " + PATH + " is not set, and java.library.path has no " + library,
                        "use a jar built for " + platform + ", or build the library (cargo build --release -p fulgurite-jni) and name it with "
                                + PATH, null);
            }
            Files.createDirectories(target);
            Path file = Files.createTempFile(target, "fulgurite-", "-" + library);
            // Kept while the process lives: native backtraces read their symbols from it.
            file.toFile().deleteOnExit();
            Files.copy(bundled, file, StandardCopyOption.REPLACE_EXISTING);
            return file;
        } catch (IOException e) {
            throw failed("io", "cannot extract the native library to '" + target + "': " + e,
                    "name a folder that can be written to with " + TMPDIR, e);
        }
    }

    private static void open(Path file, String help) {
        try {
            System.load(file.toAbsolutePath().toString());
        } catch (LinkageError e) {
            // UnsatisfiedLinkError from the linker, or the LinkageError in which the library says that this jar is not its own.
            throw failed("argument", "cannot load the native library '" + file + "' on " + Platform.current() + ": " + e.getMessage(), help, e);
        }
    }

    private static FulguriteException failed(String kind, String message, String help, Throwable cause) {
        return new FulguriteException(kind, kind + " error: " + message + "\n   = help: " + help, cause);
    }

    /** What this jar says of itself in the handshake. */
    private static byte[] shim() {
        Properties build = new Properties();
        try (InputStream resource = NativeLibrary.class.getResourceAsStream("build.properties")) {
            if (resource == null) {
                throw failed("internal", "io/fulgurite/core/build.properties is not on the class path",
                        "use an unmodified fulgurite-core jar", null);
            }
            build.load(resource);
        } catch (IOException e) {
            throw failed("io", "cannot read io/fulgurite/core/build.properties: " + e, "use an unmodified fulgurite-core jar", e);
        }
        String json = "{\"version\": " + quoted(build.getProperty("version", "")) + ", \"build\": " + quoted(build.getProperty("build", "")) + "}";
        return json.getBytes(StandardCharsets.UTF_8);
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
