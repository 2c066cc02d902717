package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The native methods from Java's side. Every test gives back all handles. */
class NativeTest {
    private long handlesBefore;

    @BeforeEach
    void countHandles() {
        handlesBefore = Library.liveHandles();
    }

    @AfterEach
    void noHandleIsLeft() {
        assertEquals(handlesBefore, Library.liveHandles());
    }

    /** Keeps what is printed; runs no primitives. */
    private static class Printing implements Host {
        final List<String> lines = new ArrayList<>();

        @Override
        public byte[] apply(byte[] primitive, long payload) {
            throw new AssertionError("no distributed work is expected: " + Library.text(primitive));
        }

        @Override
        public void print(byte[] line) {
            lines.add(Library.text(line));
        }

        @Override
        public void serve(long callers, int threads) {
            throw new AssertionError("no loop with jobs is expected");
        }

        @Override
        public void cancel(long callers, int number) {}
    }

    private static FulguriteException failure(String kind, Executable run) {
        FulguriteException failure = assertThrows(FulguriteException.class, run);
        assertEquals(kind, failure.kind(), failure.getMessage());
        assertTrue(failure.getMessage().matches("(?s)" + kind + " error(\\[E\\d{4}\\])?: .*"), failure.getMessage());
        return failure;
    }

    @Test
    void theHandshakeTellsPlatformAndProcessor() {
        String reply = Library.handshake();
        assertTrue(reply.contains("\"platform\":\"" + Platform.current() + "\""), reply);
        assertTrue(reply.contains("\"cpuFeatures\":["), reply);
    }

    @Test
    void aScriptRunsPrintsAndReturnsValues() {
        Printing host = new Printing();
        String reply = Library.execute("Y = matrix(2, rows=3, cols=4)\\nX = sum(Y)\\nprint('sum é: ' + X)", host);
        assertEquals(List.of("sum é: 24.0"), host.lines);
        assertTrue(reply.contains("\"X\":{\"kind\":\"scalar\",\"value\":{\"type\":\"double\",\"value\":24.0}}"), reply);
        assertTrue(reply.contains("\"report\":{"), reply);
    }

    /** The stack of the calling thread has a megabyte; calls to the host come back to it. */
    @Test
    void callsMayNestDeeply() {
        Printing host = new Printing();
        Library.execute("f = function(int n) return (int r) { if (n > 0) { r = f(n - 1) + 1 } else { print('deep')\\nr = 0 } }\\n"
                + "X = f(3000)", host);
        assertEquals(List.of("deep"), host.lines);
        FulguriteException endless = failure("runtime", () -> Library.execute(
                "f = function(int n) return (int r) { r = f(n + 1) }\\nX = f(1)", host));
        assertTrue(endless.getMessage().contains("more than 5000 calls"), endless.getMessage());
    }

    @Test
    void matricesComeOutAndGoInAsHandles() {
        try (NativeHandle ones = Library.ones(3, 2)) {
            String reply = ones.with(handle -> Library.call("{\"script\": \"S = sum(M)\", \"outputs\": [\"S\"], "
                    + "\"inputs\": [{\"name\": \"M\", \"kind\": \"local\", \"handle\": " + handle + "}]}", null));
            assertTrue(reply.contains("\"value\":6.0"), reply);
            String description = ones.with(Library::describe);
            assertEquals(3, Library.number(description, "rows"));
            assertEquals(6, Library.number(description, "nnz"));
            assertTrue(description.contains("\"layout\":\"dense\""), description);
        }
    }

    @Test
    void explainAndCheckRunNothing() {
        String script = "\"script\": \"X = matrix(1, rows=2, cols=2)\\nprint(sum(X))\"";
        String explained = Library.call("{\"command\": \"explain\", \"level\": \"hops\", " + script + "}", null);
        assertTrue(explained.startsWith("{\"text\":\""), explained);
        assertEquals("{}", Library.call("{\"command\": \"check\", " + script + "}", null));
    }

    @Test
    void textBecomesBlocksAndBlocksBecomeText() {
        byte[] csv = Library.bytes("{\"kind\": \"csv\", \"separator\": \",\", \"fill\": true, \"default\": \"0\", \"naStrings\": [], "
                + "\"columns\": 2, \"mostRows\": 2}");
        byte[] text = Library.bytes("1,2\n\n3,4.5\n0,-1e9\nnot read");
        String reply = Library.text(Native.parseText(csv, text, text.length - 8));
        assertTrue(reply.startsWith("{\"lines\":4,\"handles\":["), reply);
        String[] handles = reply.replaceAll(".*\\[|\\].*", "").split(",");
        assertEquals(2, handles.length, reply);
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        byte[] format = Library.bytes("{\"kind\": \"csv\", \"separator\": \";\", \"header\": false, \"sparse\": false}");
        for (String handle : handles) {
            try (NativeHandle stripe = new NativeHandle(Long.parseLong(handle))) {
                stripe.with(address -> {
                    Native.formatText(address, format, written);
                    return null;
                });
            }
        }
        assertEquals("1.0;2.0\n3.0;4.5\n0;-1.0E9\n", Library.text(written.toByteArray()));
        String bad = Library.text(Native.parseText(csv, Library.bytes("1,2\n3,x\n"), 8));
        assertTrue(bad.contains("\"problem\":{\"line\":2,\"reason\":\"'x' in column 2 is not a number\",\"text\":\"3,x\""), bad);
        failure("argument", () -> Native.parseText(csv, text, text.length + 1));
        failure("argument", () -> Native.parseText(csv, text, -1));
        failure("argument", () -> Native.parseText(Library.bytes("{\"kind\": \"prose\"}"), text, 1));
        failure("argument", () -> Native.parseText(csv, null, 0));
        failure("argument", () -> Native.formatText(0, format, written));
    }

    @Test
    void cellsAreSpreadAndGathered() {
        byte[] text = Library.bytes("3 1 5\n1 2 4\n");
        String reply = Library.text(Native.parseText(Library.bytes("{\"kind\": \"cells\", \"rows\": 3, \"cols\": 2, \"pattern\": false, "
                + "\"symmetry\": \"general\"}"), text, text.length));
        try (NativeHandle cells = new NativeHandle(Long.parseLong(reply.replaceAll(".*\\[|\\].*", "")))) {
            long[] parts = cells.with(address -> Native.spreadCells(Library.bytes("{\"starts\": [0, 1, 2], \"symmetry\": \"general\"}"), address));
            assertTrue(parts.length == 3 && parts[0] != 0 && parts[1] == 0 && parts[2] != 0, Arrays.toString(parts));
            byte[] how = Library.bytes("{\"from\": 2, \"until\": 3, \"cols\": 2, \"height\": 10, \"mayBeDense\": false}");
            String stripes = Library.text(Native.gatherCells(how, new long[] {parts[2]}));
            try (NativeHandle stripe = new NativeHandle(Long.parseLong(stripes.replaceAll(".*\\[|\\].*", "")))) {
                assertEquals(2, (long) stripe.with(address -> Library.number(Library.describe(address), "rowOffset")));
            }
            assertEquals("{\"handles\":[],\"twice\":[3,1]}", Library.text(Native.gatherCells(how, new long[] {parts[2], parts[2]})));
            failure("argument", () -> Native.gatherCells(how, parts));
            Native.release(parts[0]);
            Native.release(parts[2]);
        }
    }

    @Test
    void errorsKnowTheirPlaceInTheScript() {
        FulguriteException failure = failure("dimension", () ->
                Library.execute("A = matrix(1, rows=2, cols=3)\\nX = A %*% A\\nprint(sum(X))", null));
        assertEquals("test.dml", failure.file());
        assertEquals(2, failure.line());
        assertEquals("ba(+*)", failure.operator());
        assertTrue(failure.getMessage().contains("X = A %*% A"), failure.getMessage());
    }

    @Test
    void malformedTextIsRefused() {
        assertNull(failure("argument", () -> Library.call("{", null)).file());
        failure("argument", () -> Library.call("{\"command\": \"dance\"}", null));
        failure("argument", () -> Native.call(new byte[] {(byte) 0xff, 0}, null));
        failure("argument", () -> Native.handshake(Library.bytes("[]")));
        failure("plan", () -> Native.runTask(0, Library.bytes("{}"), new long[0], new long[0]));
        try (NativeHandle matrix = Library.ones(1, 1)) {
            failure("plan", () -> matrix.with(m -> Native.combine(Library.bytes("\"shuffle\""), m, m)));
        }
    }

    @Test
    void nullIsRefused() {
        failure("argument", () -> Native.handshake(null));
        failure("argument", () -> Native.call(null, null));
        failure("argument", () -> Native.runTask(0, null, null, null));
        failure("argument", () -> Native.taskMemory(null, false, null, null));
        failure("plan", () -> Native.taskMemory(Library.bytes("{}"), true, new long[0], new long[0]));
        failure("argument", () -> Native.join(null));
        failure("dimension", () -> Native.join(new long[0]));
        failure("argument", () -> Native.joinBlocks(new long[0], null));
        failure("argument", () -> Native.joinBlocks(new long[0], new long[1]));
        failure("argument", () -> Native.runCombined(0, null, null, 0, null, null));
        failure("plan", () -> Native.runCombined(0, Library.bytes("{}"), Library.bytes("\"sum\""), 0, new long[0], new long[0]));
        failure("argument", () -> Native.runTask(0, Library.bytes("{}"), null, new long[0]));
        failure("argument", () -> Native.importBlocks(0, 0));
        failure("argument", () -> Native.importBlocks(3, 5));
        try (NativeHandle matrix = Library.ones(1, 1)) {
            failure("argument", () -> matrix.with(handle -> {
                Native.exportBlocks(handle, 0, 0);
                return null;
            }));
        }
        failure("argument", () -> Native.read(null));
        try (NativeHandle matrix = Library.ones(1, 1)) {
            failure("argument", () -> matrix.with(handle -> {
                Native.write(handle, null);
                return null;
            }));
            failure("argument", () -> matrix.with(handle -> Native.place(handle, -1)));
        }
        FulguriteException noHost = failure("argument", () -> Library.execute("X = 1\\nprint(X)", null));
        assertTrue(noHost.getMessage().contains("the host is null"), noHost.getMessage());
    }

    @Test
    void aReleasedHandleNamesNothing() {
        NativeHandle matrix = Library.ones(2, 2);
        long handle = matrix.with(h -> h);
        matrix.close();
        matrix.close();
        Native.release(handle);
        Native.release(0);
        Native.release(Long.MIN_VALUE);
        FulguriteException failure = failure("argument", () -> Native.describe(handle));
        assertTrue(failure.getMessage().contains("handle " + handle + " was released already"), failure.getMessage());
        failure("argument", () -> Native.describe(Long.MAX_VALUE));
        failure("argument", () -> Native.exportBlocks(handle, 8, 8));
        failure("argument", () -> matrix.with(h -> h));
        assertTrue(matrix.isClosed());
    }

    @Test
    void aHandleThatIsClosedInUseIsFreedAfterIt() {
        AtomicInteger freed = new AtomicInteger();
        NativeHandle matrix = new NativeHandle(Library.ones(2, 3).detach(), freed::incrementAndGet);
        long handle = matrix.with(outer -> matrix.with(inner -> {
            failure("argument", matrix::detach);
            matrix.close();
            assertTrue(matrix.isClosed());
            failure("argument", () -> matrix.with(h -> h));
            assertEquals(6, Native.nonZeros(inner));
            return outer;
        }));
        assertEquals(1, freed.get());
        failure("argument", () -> Native.look(handle));
        failure("argument", () -> Native.nonZeros(handle));
        matrix.close();
        assertEquals(1, freed.get());
    }

    @Test
    void streamsCarryBlocksInParts() throws IOException {
        try (NativeHandle matrix = Library.ones(500, 600)) {
            ByteArrayOutputStream written = new ByteArrayOutputStream();
            matrix.with(handle -> {
                Native.write(handle, written);
                return null;
            });
            byte[] bytes = written.toByteArray();
            // One that gives a few bytes at a time, and another one's first byte behind.
            InputStream slow = new ByteArrayInputStream(Arrays.copyOf(bytes, bytes.length + 1)) {
                @Override
                public synchronized int read(byte[] into, int from, int count) {
                    return super.read(into, from, Math.min(count, 70_001));
                }
            };
            try (NativeHandle back = new NativeHandle(Native.read(slow))) {
                assertEquals(300_000, (long) back.with(handle -> Native.nonZeros(handle)));
            }
            assertEquals(1, slow.available());
            for (int length : new int[] {0, 7, 100, bytes.length - 8, bytes.length - 1}) {
                failure("data", () -> Native.read(new ByteArrayInputStream(bytes, 0, length)));
            }
        }
    }

    @Test
    void whatAStreamThrowsIsThrown() {
        IllegalStateException thrown = new IllegalStateException("the disk is full");
        try (NativeHandle matrix = Library.ones(300, 300)) {
            OutputStream full = new OutputStream() {
                @Override
                public void write(int value) {
                    throw thrown;
                }
            };
            assertSame(thrown, assertThrows(IllegalStateException.class, () -> matrix.with(handle -> {
                Native.write(handle, full);
                return null;
            })));
            InputStream broken = new InputStream() {
                @Override
                public int read() {
                    throw thrown;
                }
            };
            assertSame(thrown, assertThrows(IllegalStateException.class, () -> Native.read(broken)));
            assertEquals(90_000, Library.number(Library.describe(matrix.with(h -> h)), "nnz"));
        }
    }

    @Test
    void aHandleIsFreedByWhomItWasGivenTo() {
        NativeHandle first = Library.ones(2, 2);
        long handle = first.detach();
        first.close();
        assertEquals(4, Library.number(Library.describe(handle), "nnz"));
        new NativeHandle(handle).close();
        failure("argument", first::detach);
    }

    @Test
    void aForgottenHandleIsFreedByTheGarbageCollector() throws InterruptedException {
        NativeHandle forgotten = Library.ones(2, 2);
        assertEquals(handlesBefore + 1, Library.liveHandles());
        assertFalse(forgotten.isClosed());
        forgotten = null;
        for (int attempt = 0; attempt < 100 && Library.liveHandles() > handlesBefore; attempt++) {
            System.gc();
            Thread.sleep(20);
        }
    }

    @Test
    void blocksAreToldByTheirNumbers() {
        try (NativeHandle matrix = Library.ones(2, 3)) {
            try (NativeHandle part = new NativeHandle(matrix.with(handle -> Native.part(handle, 0, 1)))) {
                long nonZeros = NativeHandle.withAll(List.of(matrix, part), handles -> {
                    try (NativeHandle joined = new NativeHandle(Native.joinBlocks(handles, new long[2]))) {
                        return joined.with(handle -> Library.number(Library.describe(handle), "nnz"));
                    }
                });
                assertEquals(12, nonZeros);
            }
            try (NativeHandle none = new NativeHandle(matrix.with(handle -> Native.part(handle, 1, 1)))) {
                assertEquals(0L, none.<Long>with(Native::nonZeros));
            }
            for (long[] range : new long[][] {{0, 2}, {1, 0}, {-1, 1}, {2, 2}}) {
                failure("argument", () -> matrix.with(handle -> Native.part(handle, range[0], range[1])));
            }
            for (long number : new long[] {-1, 1}) {
                failure("argument", () -> matrix.with(handle -> Native.joinBlocks(new long[] {handle}, new long[] {number})));
            }
        }
    }

    @Test
    void blocksCrossTheArrowInterfaceWithoutACopy() {
        try (ArrowStructs structs = new ArrowStructs()) {
            NativeHandle exported = Library.ones(100, 5);
            exported.with(handle -> {
                Native.exportBlocks(handle, structs.array, structs.schema);
                return null;
            });
            exported.close();
            assertFalse(structs.isReleased());
            try (NativeHandle imported = new NativeHandle(Native.importBlocks(structs.array, structs.schema))) {
                assertTrue(structs.isReleased());
                assertEquals(500, (long) imported.with(handle -> Library.number(Library.describe(handle), "nnz")));
            }
            FulguriteException twice = failure("data", () -> Native.importBlocks(structs.array, structs.schema));
            assertTrue(twice.getMessage().contains("released already"), twice.getMessage());
        }
    }

    @Test
    void aTableIsTakenOverWhateverBecomesOfThePlan() {
        byte[] plan = Library.bytes("{\"scan\": 0}");
        try (ArrowStructs table = new ArrowStructs(); ArrowStructs result = new ArrowStructs(); NativeHandle matrix = Library.ones(2, 2)) {
            failure("argument", () -> Native.relate(plan, 0, 0, 0, 0));
            failure("argument", () -> Native.relate(plan, table.array, table.schema, 0, 0));
            failure("argument", () -> Native.relate(null, table.array, table.schema, result.array, result.schema));
            failure("data", () -> Native.relate(plan, table.array, table.schema, result.array, result.schema));
            matrix.with(handle -> {
                Native.exportBlocks(handle, table.array, table.schema);
                return null;
            });
            // Lists of values are columns of no plan.
            failure("unsupported", () -> Native.relate(plan, table.array, table.schema, result.array, result.schema));
            assertTrue(table.isReleased());
            assertTrue(result.isReleased());
        }
    }

    @Test
    void partialResultsCombine() {
        try (NativeHandle left = Library.ones(2, 3); NativeHandle right = Library.ones(2, 3); NativeHandle other = Library.ones(3, 2)) {
            byte[] sum = Library.bytes("\"sum\"");
            long combined = left.with(l -> right.with(r -> Native.combine(sum, l, r)));
            try (NativeHandle result = new NativeHandle(combined)) {
                assertEquals(6, (long) result.with(handle -> Library.number(Library.describe(handle), "nnz")));
            }
            failure("dimension", () -> left.with(l -> other.with(o -> Native.combine(sum, l, o))));
        }
    }

    @Test
    void anExceptionOfTheHostComesBackAsTheSameObject() {
        IllegalStateException thrown = new IllegalStateException("the session is gone");
        Host host = new Printing() {
            @Override
            public void print(byte[] line) {
                throw thrown;
            }
        };
        Throwable caught = assertThrows(IllegalStateException.class, () -> Library.execute("X = 1\\n\\nprint(X)", host));
        assertSame(thrown, caught);
        FulguriteException place = (FulguriteException) caught.getSuppressed()[0];
        assertEquals(3, place.line());
    }

    @Test
    void errorsOfTheJvmComeBackAsTheSameObject() {
        StackOverflowError thrown = new StackOverflowError();
        Host host = new Printing() {
            @Override
            public void print(byte[] line) {
                throw thrown;
            }
        };
        assertSame(thrown, assertThrows(StackOverflowError.class, () -> Library.execute("X = 1\\nprint(X)", host)));
    }

    @Test
    void aDatasetIsAskedOfTheHost() {
        List<String> primitives = new ArrayList<>();
        Host host = new Printing() {
            @Override
            public byte[] apply(byte[] primitive, long payload) {
                primitives.add(Library.text(primitive));
                Native.release(payload);
                return Library.bytes("{\"dataset\": 7, \"rows\": 10, \"cols\": 2, \"nnz\": -1, \"fruit\": 1}");
            }
        };
        String request = "{\"script\": \"X = nrow(D)\", \"outputs\": [\"X\"], "
                + "\"inputs\": [{\"name\": \"D\", \"kind\": \"dataset\", \"rows\": 10, \"cols\": 2, \"nnz\": -1}]}";
        FulguriteException failure = failure("backend", () -> Library.call(request, host));
        assertTrue(failure.getMessage().contains("unknown field `fruit`"), failure.getMessage());
        assertEquals("{\"primitive\":\"source\",\"source\":{\"kind\":\"registered\",\"name\":\"D\"},\"operator\":\"input D\"}", primitives.get(0));
    }

    @Test
    void aHostThatReturnsNullIsNamed() {
        Host host = new Printing() {
            @Override
            public byte[] apply(byte[] primitive, long payload) {
                return null;
            }
        };
        String request = "{\"script\": \"X = sum(D)\", \"outputs\": [\"X\"], \"inputs\": [{\"name\": \"D\", \"kind\": \"dataset\"}]}";
        FulguriteException failure = failure("backend", () -> Library.call(request, host));
        assertTrue(failure.getMessage().contains("Host.apply returned null"), failure.getMessage());
    }

    /** Answers for a dataset of a million rows: sums of it are 1, of which nothing was rounded away, and come in pairs. */
    private static class Pairs extends Printing {
        final CyclicBarrier pair = new CyclicBarrier(2);
        final Set<String> asking = ConcurrentHashMap.newKeySet();
        final List<Thread> threads = new ArrayList<>();

        @Override
        public byte[] apply(byte[] primitive, long payload) {
            String text = Library.text(primitive);
            if (text.contains("\"primitive\":\"source\"")) {
                return Library.bytes("{\"dataset\": 7, \"rows\": 1000000, \"cols\": 2, \"nnz\": -1}");
            }
            if (text.contains("\"primitive\":\"capacity\"")) {
                return Library.bytes("{\"capacity\": {\"tasks\": 2, \"cores\": 1, \"bytes\": null, \"resultBytes\": null, \"isHere\": true}}");
            }
            if (!text.contains("\"primitive\":\"mapAggregate\"")) {
                return Library.bytes("{}");
            }
            asking.add(Thread.currentThread().getName());
            return aggregate(Thread.currentThread().getName());
        }

        byte[] aggregate(String thread) {
            if (thread.startsWith("iterations")) {
                try {
                    pair.await(20, TimeUnit.SECONDS);
                } catch (Exception e) {
                    throw new IllegalStateException("jobs do not run beside each other", e);
                }
            }
            // The library takes the handle over.
            long one = Library.number(Library.execute("X = matrix('1 0', rows=2, cols=1)", null), "handle");
            return Library.bytes("{\"payload\": " + one + "}");
        }

        @Override
        public void serve(long callers, int count) {
            for (int number = 0; number < count; number++) {
                int own = number;
                Thread thread = new Thread(() -> Native.serve(callers, own), "iterations " + own);
                threads.add(thread);
                thread.start();
            }
        }

        String run() {
            return Library.call("{\"name\": \"test.dml\", \"script\": "
                    + "\"R = matrix(0, rows=5, cols=1)\\nparfor (i in 1:5) { R[i, 1] = sum(abs(D - i))\\nprint(i) }\\nX = sum(R)\", "
                    + "\"outputs\": [\"X\"], \"config\": {\"fulgurite.threads\": \"2\", \"fulgurite.memory.local\": \"1m\"}, "
                    + "\"inputs\": [{\"name\": \"D\", \"kind\": \"dataset\", \"rows\": 1000000, \"cols\": 2, \"nnz\": -1}]}", this);
        }

        void threadsHaveEnded() {
            for (Thread thread : threads) {
                try {
                    thread.join(20_000);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                assertFalse(thread.isAlive(), thread.getName());
            }
        }
    }

    @Test
    void iterationsAskTheHostOnThreadsThatItStarts() {
        Pairs host = new Pairs();
        String reply = host.run();
        assertTrue(reply.contains("\"value\":5.0"), reply);
        // The first iteration runs alone, to show what one takes; lines come on the calling thread, in order.
        assertEquals(Set.of(Thread.currentThread().getName(), "iterations 0", "iterations 1"), host.asking);
        assertEquals(List.of("1", "2", "3", "4", "5"), host.lines);
        host.threadsHaveEnded();
    }

    @Test
    void anExceptionOnAThreadOfIterationsComesBackAsTheSameObject() {
        IllegalStateException thrown = new IllegalStateException("the session is gone");
        Pairs host = new Pairs() {
            @Override
            byte[] aggregate(String thread) {
                if (thread.startsWith("iterations")) {
                    throw thrown;
                }
                return super.aggregate(thread);
            }
        };
        assertSame(thrown, assertThrows(IllegalStateException.class, host::run));
        assertEquals("1", host.lines.get(0));
        host.threadsHaveEnded();
    }

    @Test
    void callersThatNoLoopExpectsAreAnError() {
        FulguriteException failure = failure("argument", () -> Native.serve(12345, 0));
        assertTrue(failure.getMessage().contains("no loop expects a thread 0 of the callers 12345"), failure.getMessage());
        failure("argument", () -> Native.serve(1, -1));
    }

    @Test
    void panicsAreExceptionsWithMessageAndBacktrace() {
        assumeTrue(Library.handshake().contains("\"debugAssertions\":true"), "release builds do not panic on request");
        for (String thread : List.of("caller", "worker")) {
            FulguriteException failure = failure("internal", () ->
                    Library.call("{\"command\": \"panic\", \"thread\": \"" + thread + "\"}", null));
            assertTrue(failure.getMessage().contains(": a deliberate panic, formatted: 42"), failure.getMessage());
            assertTrue(failure.getMessage().contains("native/jni/src/request.rs:"), failure.getMessage());
            assertTrue(failure.getMessage().contains("fulgurite_jni::request::panic_formatted"), failure.getMessage());
        }
        assertNotEquals("", Library.handshake());
    }

    @Test
    void anyThreadMayCall() {
        List<CompletableFuture<String>> runs = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String script = "X = sum(matrix(" + i + ", rows=10, cols=10))\\nprint(X)";
            runs.add(CompletableFuture.supplyAsync(() -> {
                Printing host = new Printing();
                Library.execute(script, host);
                return host.lines.get(0);
            }));
        }
        for (int i = 0; i < 8; i++) {
            assertEquals(i * 100 + ".0", runs.get(i).join());
        }
    }
}
