package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The JVM's own checks of how native code uses the JNI print warnings: a process of its own shows that there are none. */
class CheckedJniTest {
    private static final int PRINTS = 500;

    @TempDir
    Path scratch;

    /** What the other process does: callbacks in great number, exceptions both ways, handles. */
    public static void main(String[] arguments) {
        int[] lines = {0};
        Host host = new Host() {
            @Override
            public byte[] apply(byte[] primitive, long payload) {
                throw new IllegalStateException("no session");
            }

            @Override
            public void print(byte[] line) {
                lines[0]++;
            }

            @Override
            public void serve(long callers, int threads) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void cancel(long callers, int number) {}
        };
        Library.execute("X = 0\\nfor (i in 1:" + PRINTS + ") { print(i) }", host);
        assertEquals(PRINTS, lines[0]);
        for (int i = 0; i < 50; i++) {
            assertThrows(FulguriteException.class, () -> Library.execute("X = undefined", host));
            assertThrows(IllegalStateException.class, () -> Library.call("{\"script\": \"X = sum(D)\", \"outputs\": [\"X\"], "
                    + "\"inputs\": [{\"name\": \"D\", \"kind\": \"dataset\"}]}", host));
            streams();
        }
        System.out.println("done");
    }

    /** Blocks through streams that work and through streams that throw. */
    private static void streams() {
        OutputStream full = new OutputStream() {
            @Override
            public void write(int value) {
                throw new IllegalStateException("the disk is full");
            }
        };
        InputStream broken = new InputStream() {
            @Override
            public int read() {
                throw new IllegalStateException("the connection is lost");
            }
        };
        try (NativeHandle matrix = Library.ones(100, 100)) {
            ByteArrayOutputStream written = new ByteArrayOutputStream();
            matrix.with(handle -> {
                Native.write(handle, written);
                new NativeHandle(Native.read(new ByteArrayInputStream(written.toByteArray()))).close();
                new NativeHandle(Native.place(handle, 7)).close();
                assertThrows(IllegalStateException.class, () -> Native.write(handle, full));
                byte[] cells = Library.bytes("{\"kind\": \"cells\"}");
                Native.formatText(handle, cells, written);
                assertThrows(IllegalStateException.class, () -> Native.formatText(handle, cells, full));
                Native.parseText(Library.bytes("{\"kind\": \"header\"}"), Library.bytes("%%MatrixMarket matrix array real general\n1 1\n"), 44);
                Native.nonZeros(handle);
                return Native.look(handle);
            });
            assertThrows(IllegalStateException.class, () -> Native.read(broken));
        }
    }

    @Test
    void nothingIsWarnedOfAndTheProcessEnds() throws IOException, InterruptedException {
        Path output = scratch.resolve("output.txt");
        // From Java 24 on, loading a library is itself warned of unless it is enabled.
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xcheck:jni",
                        "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                        "-D" + NativeLibrary.PATH + "=" + System.getProperty(NativeLibrary.PATH),
                        CheckedJniTest.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = process.waitFor(60, TimeUnit.SECONDS);
        process.destroyForcibly();
        String text = Files.readString(output);
        assertTrue(ended, () -> "the process did not end:\n" + text);
        assertEquals(0, process.exitValue(), text);
        assertTrue(text.contains("done"), text);
        assertFalse(text.contains("WARNING"), text);
        assertFalse(text.contains("FATAL"), text);
    }
}
