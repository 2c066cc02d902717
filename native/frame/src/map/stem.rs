//! The stem of an English word.
//!
//! M. F. Porter, An algorithm for suffix stripping, Program 14 (1980), without the later changes of his program.

/// The stem of a word of small letters. All others count as consonants; words of one or two letters are their own stems.
pub(super) fn stem(word: &str) -> String {
    if word.len() <= 2 {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    plurals(&mut word);
    past(&mut word);
    if let Some(rest) = word.strip_suffix('y')
        && has_vowel(rest)
    {
        word = format!("{rest}i");
    }
    replace_one(&mut word, DOUBLE_SUFFIXES, 0);
    replace_one(&mut word, SUFFIXES, 0);
    drop_one(&mut word);
    if let Some(rest) = word.strip_suffix('e') {
        let measure = measure(rest);
        if measure > 1 || (measure == 1 && !ends_short(rest)) {
            word.truncate(word.len() - 1);
        }
    }
    if word.ends_with("ll") && measure(&word) > 1 {
        word.truncate(word.len() - 1);
    }
    word
}

const DOUBLE_SUFFIXES: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

const SUFFIXES: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const LAST_SUFFIXES: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
];

/// For each byte, whether it is a consonant: what is no vowel, and `y` at the front and behind a vowel.
fn consonants(word: &str) -> Vec<bool> {
    let mut consonants: Vec<bool> = Vec::new();
    for letter in word.bytes() {
        let is_consonant = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => consonants.last().is_none_or(|before| !before),
            _ => true,
        };
        consonants.push(is_consonant);
    }
    consonants
}

fn has_vowel(word: &str) -> bool {
    consonants(word).contains(&false)
}

/// How often consonants follow vowels.
fn measure(word: &str) -> usize {
    let consonants = consonants(word);
    let pairs = consonants.windows(2).filter(|pair| *pair == [false, true]);
    pairs.count()
}

fn ends_double(word: &str) -> bool {
    match (word.as_bytes(), &consonants(word)[..]) {
        ([.., before, last], [.., true]) => before == last && last.is_ascii(),
        _ => false,
    }
}

/// Consonant, vowel, consonant, the last none of w, x and y.
fn ends_short(word: &str) -> bool {
    consonants(word).ends_with(&[true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}

fn plurals(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.truncate(word.len() - 1);
    }
}

fn past(word: &mut String) {
    if let Some(rest) = word.strip_suffix("eed") {
        if measure(rest) > 0 {
            word.truncate(word.len() - 1);
        }
        return;
    }
    let rest = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing"));
    let Some(len) = rest.filter(|rest| has_vowel(rest)).map(str::len) else {
        return;
    };
    word.truncate(len);
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if ends_double(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.truncate(len - 1);
        }
    } else if measure(word) == 1 && ends_short(word) {
        word.push('e');
    }
}

/// Replaces the longest suffix of the list, where the rest has this measure and more.
fn replace_one(word: &mut String, suffixes: &[(&str, &str)], least: usize) {
    let found = suffixes.iter().filter(|(suffix, _)| word.ends_with(suffix));
    let Some((suffix, by)) = found.max_by_key(|(suffix, _)| suffix.len()) else {
        return;
    };
    let rest = word.len() - suffix.len();
    if measure(&word[..rest]) > least {
        word.truncate(rest);
        word.push_str(by);
    }
}

fn drop_one(word: &mut String) {
    let found = LAST_SUFFIXES
        .iter()
        .filter(|suffix| word.ends_with(**suffix));
    let Some(suffix) = found.max_by_key(|suffix| suffix.len()) else {
        return;
    };
    let rest = word.len() - suffix.len();
    let fits = *suffix != "ion" || word[..rest].ends_with(['s', 't']);
    if fits && measure(&word[..rest]) > 1 {
        word.truncate(rest);
    }
}

#[cfg(test)]
mod tests {
    /// The stems of SystemDS 3.4.
    #[test]
    fn stems_are_those_of_porter() {
        let words = "Relational flies hopping generalization oscillators is agreed sky happy caresses ponies ties filing plastered conformabli controll rate cease adoption vietnamization logically analogies apology";
        let stems = "Relat fli hop gener oscil is agre sky happi caress poni ti file plaster conform control rate ceas adopt vietnam logic analogi apologi";
        for (word, stem) in words.split(' ').zip(stems.split(' ')) {
            assert_eq!(super::stem(word), stem, "{word}");
        }
        for word in [
            "",
            "y",
            "yyy",
            "yyyyy",
            "syzygy",
            "größe",
            "\u{2082}ed",
            "ing",
            "ed",
            "eed",
            "s",
        ] {
            super::stem(word);
        }
    }
}
