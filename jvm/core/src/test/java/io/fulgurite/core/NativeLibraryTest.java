package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Finding the library, and refusing one that does not fit. */
class NativeLibraryTest {
    /** For which the test resources hold a file that is no library. */
    private static final Platform WITH_BROKEN_LIBRARY = new Platform("nowhere", "none");

    @TempDir
    Path scratch;

    private static FulguriteException failure(Map<String, String> settings, Platform platform) {
        UnaryOperator<String> lookup = settings::get;
        return assertThrows(FulguriteException.class, () -> NativeLibrary.locateAndLoad(lookup, platform));
    }

    private static void assertSays(FulguriteException failure, String kind, String... parts) {
        assertEquals(kind, failure.kind());
        for (String part : parts) {
            assertTrue(failure.getMessage().contains(part), () -> "'" + part + "' is missing in: " + failure.getMessage());
        }
    }

    @Test
    void aPathThatNamesNoFile() {
        String missing = scratch.resolve("missing.so").toString();
        FulguriteException failure = failure(Map.of(NativeLibrary.PATH, missing), Platform.current());
        assertSays(failure, "argument", "fulgurite.native.path is '" + missing + "'", "help: let it name libfulgurite_jni.so");
    }

    @Test
    void aPathThatNamesNoLibrary() throws IOException {
        Path text = Files.writeString(scratch.resolve("text.so"), "text");
        FulguriteException failure = failure(Map.of(NativeLibrary.PATH, text.toString()), Platform.current());
        assertSays(failure, "argument", "cannot load the native library '" + text + "'", "help: correct or unset fulgurite.native.path");
        assertInstanceOf(UnsatisfiedLinkError.class, failure.getCause());
    }

    @Test
    void aPlatformWithoutALibrary() {
        FulguriteException failure = failure(Map.of(), new Platform("plan9", "mips"));
        assertSays(failure, "argument", "no native library for plan9-mips", "/io/fulgurite/native/plan9-mips/libfulgurite_jni.so",
                "help: use a jar built for plan9-mips", "fulgurite.native.path");
    }

    @Test
    void theBundledLibraryIsExtractedUnderAUniqueName() throws IOException {
        Path folder = scratch.resolve("a/b");
        Map<String, String> settings = Map.of(NativeLibrary.TMPDIR, folder.toString());
        FulguriteException first = failure(settings, WITH_BROKEN_LIBRARY);
        failure(settings, WITH_BROKEN_LIBRARY);
        assertSays(first, "argument", "cannot load the native library '" + folder, "noexec", "fulgurite.native.tmpdir");
        try (var files = Files.list(folder)) {
            assertEquals(2, files.filter(file -> file.toString().endsWith("libfulgurite_jni.so")).count());
        }
    }

    @Test
    void aFolderThatCannotBeWrittenTo() throws IOException {
        Path file = Files.writeString(scratch.resolve("file"), "");
        FulguriteException failure = failure(Map.of(NativeLibrary.TMPDIR, file.toString()), WITH_BROKEN_LIBRARY);
        assertSays(failure, "io", "cannot extract the native library to '" + file + "'", "name a folder that can be written to");
        assertInstanceOf(IOException.class, failure.getCause());
    }

    @Test
    void aFailedLoadCanBeTriedAgain() throws Throwable {
        try (IsolatedShim shim = IsolatedShim.unchanged()) {
            Class<?>[] settings = {UnaryOperator.class};
            UnaryOperator<String> wrong = key -> key.equals(NativeLibrary.PATH) ? "/nowhere.so" : null;
            Throwable thrown = assertThrows(RuntimeException.class, () -> shim.call("NativeLibrary", "load", settings, wrong));
            Optional<?> last = (Optional<?>) shim.call("NativeLibrary", "lastFailure", new Class<?>[0]);
            assertSame(thrown, last.orElseThrow());
            assertEquals(false, shim.call("NativeLibrary", "isLoaded", new Class<?>[0]));

            shim.load(scratch);
            assertEquals(true, shim.call("NativeLibrary", "isLoaded", new Class<?>[0]));
            assertEquals(Optional.empty(), shim.call("NativeLibrary", "lastFailure", new Class<?>[0]));
        }
    }

    @Test
    void aJarOfAnotherVersion() throws Throwable {
        try (IsolatedShim shim = IsolatedShim.ofVersion("9.9.9", scratch)) {
            String failure = IsolatedShim.failure(() -> shim.load(scratch));
            assertTrue(failure.contains("the jar is Fulgurite 9.9.9 (build dev), the native library "), failure);
            assertTrue(failure.contains("help: take both from one build"), failure);
            assertEquals(false, shim.call("NativeLibrary", "isLoaded", new Class<?>[0]));
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "Native.java | long importBlocks(long array | long importBlocks(int array",
        "Native.java | public static native void release( | public static native int release(",
        "Host.java | void print(byte[] line) | void print(String line)",
        "Host.java | byte[] apply( | byte[] run(",
        "FulguriteException.java | int line, int column) | int line, int column, int length)",
    })
    void aJarWithOtherSignatures(String file, String from, String to) throws Throwable {
        try (IsolatedShim shim = IsolatedShim.withSource(file, from, to, scratch)) {
            String failure = IsolatedShim.failure(() -> shim.load(scratch));
            assertTrue(failure.contains("the jar that loads it is of another build"), failure);
        }
    }

    /** Spark may have our jar both in its own folder and in the application's class loader. */
    @Test
    void nativesAreBoundWhereTheyAreCalledWhateverTheContextLoader() throws Throwable {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (IsolatedShim context = IsolatedShim.unchanged(); IsolatedShim caller = IsolatedShim.unchanged()) {
            thread.setContextClassLoader(context.loader());
            caller.load(scratch);
            String failure = IsolatedShim.failure(() -> caller.handshake("{}"));
            assertTrue(failure.startsWith("io.fulgurite.core.FulguriteException: argument error"), failure);
            context.load(scratch);
            assertFalse(IsolatedShim.failure(() -> context.handshake("{}")).contains("UnsatisfiedLinkError"));
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64",
        "Linux, aarch64, linux-aarch64",
        "Mac OS X, arm64, macos-aarch64",
        "Windows 11, amd64, windows-x86_64",
        "Linux, riscv64, linux-riscv64",
    })
    void platformsHaveOneName(String system, String architecture, String name) {
        assertEquals(name, Platform.of(system, architecture).toString());
    }
}
