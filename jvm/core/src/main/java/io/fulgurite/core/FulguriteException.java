package io.fulgurite.core;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The one exception of Fulgurite. Its message is complete: kind, what went wrong, where in the script (with the line
 * itself), and what to do next. The parts are there for programs. Neither the message nor a cause shows credentials.
 */
public class FulguriteException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** How the messages of native errors begin. */
    private static final Pattern HEADING = Pattern.compile("\\w+ error\\[(E\\d{4})]");

    private final String kind;
    private final String operator;
    private final String file;
    private final Integer line;
    private final Integer column;

    /** An error that comes from no script. */
    public FulguriteException(String kind, String message, Throwable cause) {
        super(Shown.text(coded(kind, message)), Shown.cause(cause), true, hasStack(kind));
        this.kind = kind;
        this.operator = null;
        this.file = null;
        this.line = null;
        this.column = null;
    }

    /**
     * The codes of errors that have none of their own, by kind, as in {@code native/error/src/code.rs}. Interruptions have none in their
     * messages.
     */
    private static final Map<String, String> CODES = Map.ofEntries(
        Map.entry("syntax", "E0100"), Map.entry("validation", "E0300"), Map.entry("dimension", "E0400"),
        Map.entry("argument", "E0500"), Map.entry("io", "E0600"), Map.entry("data", "E0700"), Map.entry("plan", "E0800"),
        Map.entry("unsupported", "E0900"), Map.entry("memory", "E1000"), Map.entry("runtime", "E1100"),
        Map.entry("stopped", "E1200"), Map.entry("backend", "E1400"), Map.entry("internal", "E1500"));

    /** The message with the code of its kind, unless it has one already. */
    private static String coded(String kind, String message) {
        String heading = kind + " error: ";
        String code = kind == null ? null : CODES.get(kind);
        if (code == null || message == null || !message.startsWith(heading)) {
            return message;
        }
        return kind + " error[" + code + "]: " + message.substring(heading.length());
    }

    /** Wrong data are not the program's fault: where it found them tells nobody anything, and Spark logs it before everything else. */
    private static boolean hasStack(String kind) {
        return !"data".equals(kind);
    }

    /** Called by the native library; {@code line} and {@code column} are 0 when {@code file} is null. */
    FulguriteException(String kind, String message, String operator, String file, int line, int column) {
        super(Shown.text(message), null, true, hasStack(kind));
        this.kind = kind;
        this.operator = operator;
        this.file = file;
        this.line = file == null ? null : line;
        this.column = file == null ? null : column;
    }

    /**
     * Whose fault it is: {@code syntax}, {@code validation}, {@code dimension}, {@code argument}, {@code io}, {@code data},
     * {@code plan}, {@code unsupported}, {@code memory}, {@code runtime}, {@code stopped}, {@code interrupted},
     * {@code backend} or {@code internal}.
     */
    public String kind() {
        return kind;
    }

    /**
     * The stable code of the error, such as {@code E0401}, which {@code fulgurite check --explain} explains; null for
     * interruptions.
     */
    public String code() {
        String message = getMessage();
        Matcher heading = HEADING.matcher(message == null ? "" : message);
        return heading.lookingAt() ? heading.group(1) : null;
    }

    /** The code of the operator that failed, such as {@code ba(+*)}; null when none did. */
    public String operator() {
        return operator;
    }

    /** The script's name; null when the error has no place in a script. */
    public String file() {
        return file;
    }

    /** Counted from 1; null when the error has no place in a script. */
    public Integer line() {
        return line;
    }

    /** Counted from 1; null when the error has no place in a script. */
    public Integer column() {
        return column;
    }
}
