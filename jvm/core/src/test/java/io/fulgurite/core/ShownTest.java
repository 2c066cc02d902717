package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

/** The cases of native/error/src/text.rs. */
class ShownTest {
    @Test
    void credentialsAreNotShown() {
        String[][] cases = {
            {"cannot read s3a://KEY:SEC/RET@bucket/x: no", "cannot read s3a://***@bucket/x: no"},
            {"'hdfs://host:9000/a@b?x'", "'hdfs://host:9000/a@b?***'"},
            {"https://u@h/x?a=1&sig=2;t=3 gone", "https://***@h/x?a=***&sig=***;t=*** gone"},
            {"(abfs://c@acc.dfs/x)", "(abfs://***@acc.dfs/x)"},
            {"fs.s3a.secret.key=abc fs.s3a.access.key=k", "fs.s3a.secret.key=*** fs.s3a.access.key=***"},
            {"a == b, x=1, c:/d e://f", "a == b, x=1, c:/d e://f"},
            {"data/part-?.csv sep=\"?\"", "data/part-?.csv sep=\"?\""},
        };
        for (String[] each : cases) assertEquals(each[1], Shown.text(each[0]));
    }

    @Test
    void exceptionsShowNeitherCredentialsNorControlCharacters() {
        Throwable cause = new IOException("s3a://k:s3cret@b/x is gone", new IOException("fs.s3a.secret.key=s3cret"));
        FulguriteException failure = new FulguriteException("io", "no s3a://k:s3cret@b/x\u001b[2J", cause);
        StringWriter printed = new StringWriter();
        failure.printStackTrace(new PrintWriter(printed));
        assertFalse(printed.toString().contains("s3cret"), printed.toString());
        assertEquals("no s3a://***@b/x\\u{1b}[2J", failure.getMessage());
        Throwable harmless = new IOException("no such file");
        assertSame(harmless, new FulguriteException("io", "no", harmless).getCause());
    }
}
