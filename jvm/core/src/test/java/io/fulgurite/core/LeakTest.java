package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** A thousand calls of every kind leave nothing behind, neither on the heap nor in native memory. */
class LeakTest {
    private static final int CALLS = 1000;
    /** What one call handles; a thousand leaked ones would be far above the tolerance. */
    private static final int ROWS = 256;
    private static final int COLS = 128;
    private static final long TOLERANCE = (long) ROWS * COLS * 8 * CALLS / 10;

    private static final Host SILENT = new Host() {
        @Override
        public byte[] apply(byte[] primitive, long payload) {
            throw new IllegalStateException();
        }

        @Override
        public void print(byte[] line) {}

        @Override
        public void serve(long callers, int threads) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void cancel(long callers, int number) {}
    };

    @Test
    void memoryStaysFlat() throws IOException {
        long handles = Library.liveHandles();
        useOften(CALLS / 5);
        long resident = residentBytes();
        long heap = heapBytes();
        useOften(CALLS);
        long residentGrowth = residentBytes() - resident;
        long heapGrowth = heapBytes() - heap;
        assertEquals(handles, Library.liveHandles());
        assertTrue(residentGrowth < TOLERANCE, () -> "resident memory grew by " + residentGrowth + " bytes");
        assertTrue(heapGrowth < TOLERANCE / 10, () -> "the heap grew by " + heapGrowth + " bytes");
    }

    private static void useOften(int calls) {
        byte[] sum = Library.bytes("\"sum\"");
        for (int call = 0; call < calls; call++) {
            try (NativeHandle matrix = Library.ones(ROWS, COLS); ArrowStructs structs = new ArrowStructs()) {
                matrix.with(handle -> {
                    Native.exportBlocks(handle, structs.array, structs.schema);
                    return null;
                });
                try (NativeHandle copy = new NativeHandle(Native.importBlocks(structs.array, structs.schema));
                        NativeHandle both = new NativeHandle(matrix.with(l -> copy.with(r -> Native.combine(sum, l, r))))) {
                    assertEquals(ROWS * COLS, (long) both.with(handle -> Library.number(Library.describe(handle), "nnz")));
                }
                assertThrows(FulguriteException.class, () -> Library.execute("X = undefined", null));
                Library.execute("X = 1\\nprint(X)", SILENT);
            }
        }
    }

    private static long residentBytes() throws IOException {
        System.gc();
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                .findFirst().orElseThrow();
    }

    private static long heapBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
