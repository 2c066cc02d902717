//! Near names for error messages.

/// `did you mean 'X'?` for the candidate nearest to `name`, if one is near.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, candidates).map(|candidate| format!("did you mean '{candidate}'?"))
}

fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One slip for every three letters; a change of case alone is always near.
    let allowed = name.chars().count() / 3;
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| {
            let distance = if candidate.eq_ignore_ascii_case(name) {
                0
            } else {
                strsim::osa_distance(name, candidate)
            };
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["rowSums", "colSums", "beta", "X"];
        assert_eq!(nearest("rowsums", names), Some("rowSums"));
        assert_eq!(nearest("rowSum", names), Some("rowSums"));
        assert_eq!(nearest("btea", names), Some("beta"));
        assert_eq!(nearest("gamma", names), None);
        assert_eq!(nearest("x", names), Some("X"));
        assert_eq!(nearest("y", names), None);
    }
}
