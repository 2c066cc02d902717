package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import org.junit.jupiter.api.Test;

class FulguriteExceptionTest {
    @Test
    void itTravelsFromExecutorToDriver() throws Exception {
        FulguriteException sent = new FulguriteException("dimension", "dimension error: …", "ba(+*)", "a.dml", 3, 7);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(sent);
        }
        FulguriteException received;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            received = (FulguriteException) in.readObject();
        }
        assertEquals(sent.getMessage(), received.getMessage());
        assertEquals("dimension", received.kind());
        assertEquals("ba(+*)", received.operator());
        assertEquals("a.dml", received.file());
        assertEquals(3, received.line());
        assertEquals(7, received.column());
    }

    @Test
    void errorsOfThisSideHaveTheCodeOfTheirKind() {
        FulguriteException error = new FulguriteException("io", "io error: there is no file\n   = help: …", null);
        assertEquals("io error[E0600]: there is no file\n   = help: …", error.getMessage());
        assertEquals("E0600", error.code());
        FulguriteException again = new FulguriteException("data", "data error[E0701]: a cell", null);
        assertEquals("data error[E0701]: a cell", again.getMessage());
        assertEquals("E0701", again.code());
        FulguriteException interrupted = new FulguriteException("interrupted", "interrupted: the run was interrupted", null);
        assertEquals("interrupted: the run was interrupted", interrupted.getMessage());
        assertNull(interrupted.code());
        assertNull(new FulguriteException("io", null, null).getMessage());
    }

    @Test
    void withoutAPlaceInAScriptThePartsAreNull() {
        Exception cause = new Exception("why");
        FulguriteException error = new FulguriteException("io", "io error: …", cause);
        assertSame(cause, error.getCause());
        assertNull(error.file());
        assertNull(error.line());
        assertNull(error.column());
        assertNull(new FulguriteException("io", "io error: …", null, null, 0, 0).line());
    }
}
