package io.fulgurite.core;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What messages, names and logs may say: no credentials, and no control characters, which a terminal would obey. Native code has the
 * same rules ({@code native/error/src/text.rs}).
 */
public final class Shown {
    private static final String HIDDEN = "***";
    /** What a URI in a sentence is made of. */
    private static final String PART = "[^\\s'\"`<>,)\\]}";
    /** {@code user:secret@}, up to the last {@code @} before the path. */
    private static final Pattern USER = Pattern.compile("(?<=[A-Za-z0-9+.-]://)" + PART + "/?]*@");
    /** The same where the secret holds a slash: what follows the colon is no port. */
    private static final Pattern USER_WITH_SLASH =
        Pattern.compile("(?<=[A-Za-z0-9+.-]://)" + PART + "/:@?]+:(?!\\d*(?:[/\\s'\"`<>,)\\]}?]|$))" + PART + "@?]*@");
    private static final Pattern QUERY = Pattern.compile("(?<=[A-Za-z0-9+.-]:/)" + PART + "?]*\\?" + PART + "]*");
    private static final Pattern VALUE = Pattern.compile("([?&;])(?:([^=&;]*=)[^&;]*|[^&;]+)");
    private static final Pattern SETTING = Pattern.compile(
        "([\\w.-]*(?:secret|password|passwd|token|access\\.key|credential)[\\w.-]*)=(?!=)" + PART + "&;]+", Pattern.CASE_INSENSITIVE);

    private Shown() {}

    /** The text without credentials and control characters; line feeds and tabs stay. */
    public static String text(String text) {
        if (text == null) return null;
        String shown = text;
        if (shown.contains(":/")) {
            shown = USER.matcher(shown).replaceAll(Matcher.quoteReplacement(HIDDEN + "@"));
            shown = USER_WITH_SLASH.matcher(shown).replaceAll(Matcher.quoteReplacement(HIDDEN + "@"));
            shown = QUERY.matcher(shown).replaceAll(found -> Matcher.quoteReplacement(withoutValues(found.group())));
        }
        if (shown.indexOf('=') >= 0) shown = SETTING.matcher(shown).replaceAll("$1=" + Matcher.quoteReplacement(HIDDEN));
        return printable(shown);
    }

    /** The cause itself, or, where it or one of its own says what must not be shown, a copy that does not. */
    static Throwable cause(Throwable cause) {
        return isShown(cause, 0) ? cause : copy(cause, 0);
    }

    private static String withoutValues(String uri) {
        int query = uri.indexOf('?');
        Matcher values = VALUE.matcher(uri.substring(query));
        return uri.substring(0, query) + values.replaceAll(found -> {
            String key = found.group(2) == null ? "" : found.group(2);
            return Matcher.quoteReplacement(found.group(1) + key + HIDDEN);
        });
    }

    private static String printable(String text) {
        if (text.chars().noneMatch(Shown::isHidden)) return text;
        StringBuilder shown = new StringBuilder(text.length() + 16);
        text.chars().forEach(c -> {
            if (c == '\r') shown.append("\\r");
            else if (isHidden(c)) shown.append(String.format("\\u{%x}", c));
            else shown.append((char) c);
        });
        return shown.toString();
    }

    private static boolean isHidden(int c) {
        boolean turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
        return turns || (Character.isISOControl(c) && c != '\n' && c != '\t');
    }

    private static boolean isShown(Throwable cause, int depth) {
        if (cause == null || depth == DEEPEST) return true;
        String message = cause.getMessage();
        return (message == null || message.equals(text(message))) && isShown(cause.getCause(), depth + 1);
    }

    private static Throwable copy(Throwable cause, int depth) {
        if (cause == null || depth == DEEPEST) return null;
        Throwable copy = new RuntimeException(cause.getClass().getName() + ": " + text(cause.getMessage()), copy(cause.getCause(), depth + 1));
        copy.setStackTrace(cause.getStackTrace());
        return copy;
    }

    private static final int DEEPEST = 32;
}
