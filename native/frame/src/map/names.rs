//! The methods, static functions and constants of Java that functions of cells may name.

/// An enum of names with how many arguments each takes.
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident = $name:literal, $least:literal..=$most:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $kind { $($variant,)* }

        impl $kind {
            pub(super) fn find(name: &str) -> Option<Self> {
                match name {
                    $($name => Some($kind::$variant),)*
                    _ => None,
                }
            }

            pub(super) fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)* }
            }

            pub(super) fn takes(self) -> std::ops::RangeInclusive<usize> {
                match self { $($kind::$variant => $least..=$most,)* }
            }
        }
    };
}

names! {
    /// Of strings and of boxed numbers.
    Method {
        BooleanValue = "booleanValue", 0..=0;
        CharAt = "charAt", 1..=1;
        CompareTo = "compareTo", 1..=1;
        CompareToIgnoreCase = "compareToIgnoreCase", 1..=1;
        Concat = "concat", 1..=1;
        Contains = "contains", 1..=1;
        DoubleValue = "doubleValue", 0..=0;
        EndsWith = "endsWith", 1..=1;
        Equals = "equals", 1..=1;
        EqualsIgnoreCase = "equalsIgnoreCase", 1..=1;
        HashCode = "hashCode", 0..=0;
        IndexOf = "indexOf", 1..=2;
        IntValue = "intValue", 0..=0;
        IsBlank = "isBlank", 0..=0;
        IsEmpty = "isEmpty", 0..=0;
        LastIndexOf = "lastIndexOf", 1..=1;
        Length = "length", 0..=0;
        LongValue = "longValue", 0..=0;
        Matches = "matches", 1..=1;
        Repeat = "repeat", 1..=1;
        Replace = "replace", 2..=2;
        ReplaceAll = "replaceAll", 2..=2;
        ReplaceFirst = "replaceFirst", 2..=2;
        Split = "split", 1..=2;
        StartsWith = "startsWith", 1..=2;
        Strip = "strip", 0..=0;
        StripLeading = "stripLeading", 0..=0;
        StripTrailing = "stripTrailing", 0..=0;
        Substring = "substring", 1..=2;
        ToLowerCase = "toLowerCase", 0..=0;
        ToString = "toString", 0..=0;
        ToUpperCase = "toUpperCase", 0..=0;
        Trim = "trim", 0..=0;
    }
}

names! {
    /// Of classes.
    Static {
        ArraysToString = "Arrays.toString", 1..=1;
        BooleanParse = "Boolean.parseBoolean", 1..=1;
        BooleanToString = "Boolean.toString", 1..=1;
        BooleanValueOf = "Boolean.valueOf", 1..=1;
        CharacterIsDigit = "Character.isDigit", 1..=1;
        CharacterIsLetter = "Character.isLetter", 1..=1;
        CharacterIsLetterOrDigit = "Character.isLetterOrDigit", 1..=1;
        CharacterIsLowerCase = "Character.isLowerCase", 1..=1;
        CharacterIsUpperCase = "Character.isUpperCase", 1..=1;
        CharacterIsWhitespace = "Character.isWhitespace", 1..=1;
        CharacterToLowerCase = "Character.toLowerCase", 1..=1;
        CharacterToString = "Character.toString", 1..=1;
        CharacterToUpperCase = "Character.toUpperCase", 1..=1;
        DoubleCompare = "Double.compare", 2..=2;
        DoubleIsNaN = "Double.isNaN", 1..=1;
        DoubleParse = "Double.parseDouble", 1..=1;
        DoubleToString = "Double.toString", 1..=1;
        DoubleValueOf = "Double.valueOf", 1..=1;
        IntegerCompare = "Integer.compare", 2..=2;
        IntegerParse = "Integer.parseInt", 1..=1;
        IntegerToString = "Integer.toString", 1..=1;
        IntegerValueOf = "Integer.valueOf", 1..=1;
        LongCompare = "Long.compare", 2..=2;
        LongParse = "Long.parseLong", 1..=1;
        LongToString = "Long.toString", 1..=1;
        LongValueOf = "Long.valueOf", 1..=1;
        MathAbs = "Math.abs", 1..=1;
        MathCeil = "Math.ceil", 1..=1;
        MathExp = "Math.exp", 1..=1;
        MathFloor = "Math.floor", 1..=1;
        MathFloorDiv = "Math.floorDiv", 2..=2;
        MathFloorMod = "Math.floorMod", 2..=2;
        MathLog = "Math.log", 1..=1;
        MathLog10 = "Math.log10", 1..=1;
        MathMax = "Math.max", 2..=2;
        MathMin = "Math.min", 2..=2;
        MathPow = "Math.pow", 2..=2;
        MathRound = "Math.round", 1..=1;
        MathSignum = "Math.signum", 1..=1;
        MathSqrt = "Math.sqrt", 1..=1;
        ObjectsEquals = "Objects.equals", 2..=2;
        StringJoin = "String.join", 2..=64;
        StringValueOf = "String.valueOf", 1..=1;
        Stem = "PorterStemmer.stem", 1..=1;
        AsciiAt = "UtilFunctions.getAsciiAtIdx", 2..=2;
        IsBoolean = "UtilFunctions.isBoolean", 1..=1;
        IsInteger = "UtilFunctions.isIntegerNumber", 1..=1;
        JaccardSim = "UtilFunctions.jaccardSim", 2..=2;
        ParseDouble = "UtilFunctions.parseToDouble", 2..=2;
        ParseInt = "UtilFunctions.parseToInt", 1..=1;
        ParseLong = "UtilFunctions.parseToLong", 1..=1;
        SplitRecodeEntry = "UtilFunctions.splitRecodeEntry", 1..=1;
        WordErrorRate = "UtilFunctions.getWordErrorRate", 2..=2;
    }
}
