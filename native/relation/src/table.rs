//! Tables: named Arrow columns of one length.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, RecordBatchOptions},
    buffer::BooleanBuffer,
    compute::{CastOptions, cast, cast_with_options, concat},
    datatypes::{
        DataType, Field, Int32Type, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType,
        TimestampNanosecondType,
    },
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use crate::{
    column_cache::ColumnCache,
    kept::{Kept, KeyGroups},
    numbers::NumericColumn,
    text_codes::distinct,
    types,
};

/// More rows than this have no numbers.
pub const MOST_ROWS: usize = u32::MAX as usize - 1;

/// Names and types of columns.
pub type Columns = Vec<(Arc<str>, DataType)>;

/// Named columns of equal length; immutable and cheap to clone.
///
/// The types of columns are those of [`types::kept_as`]. The values of a dictionary are distinct and not null, so equal codes mean
/// equal texts.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array};
/// use fulgurite_relation::Table;
/// let a: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
/// let table = Table::new(vec![("a".into(), a)])?;
/// assert_eq!((table.rows(), table.names().len()), (2, 1));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    names: Arc<[Arc<str>]>,
    columns: Arc<[ArrayRef]>,
    rows: usize,
    /// Of columns that plans read.
    numbers: Arc<[ColumnCache]>,
    kept: Arc<Kept>,
}

impl Table {
    /// Columns of types that tables do not keep are cast here.
    ///
    /// # Errors
    /// `dimension` for columns of different lengths; `validation` for a name that comes twice; `unsupported` with the name and the
    /// type of a column that no table keeps, or more than [`MOST_ROWS`] rows; `data` for a value that has no place in its type;
    /// `memory`.
    pub fn new(columns: Vec<(Arc<str>, ArrayRef)>) -> Result<Table> {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        Table::with_rows(rows, columns)
    }

    /// The same for a table that may have rows and no columns.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn with_rows(rows: usize, columns: Vec<(Arc<str>, ArrayRef)>) -> Result<Table> {
        let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        distinct_names(&names)?;
        let kept = names.iter().zip(&columns).map(|(name, column)| {
            if column.len() != rows {
                return Err(Error::dimension(format!(
                    "column '{name}' has {} rows and the table {rows}",
                    column.len()
                )));
            }
            keep(name, column)
        });
        let columns = kept.collect::<Result<Vec<_>>>()?;
        Table::trusted(rows, names, columns)
    }

    /// Of columns that are as tables keep them.
    pub(crate) fn trusted(
        rows: usize,
        names: Vec<Arc<str>>,
        columns: Vec<ArrayRef>,
    ) -> Result<Table> {
        if rows > MOST_ROWS {
            return Err(Error::unsupported(format!(
                "a table of {rows} rows: the most are {MOST_ROWS}"
            )));
        }
        Ok(Table {
            names: names.into(),
            numbers: columns.iter().map(|_| ColumnCache::default()).collect(),
            columns: columns.into(),
            kept: Arc::default(),
            rows,
        })
    }

    /// The rows of all batches, one below the other.
    ///
    /// # Errors
    /// As [`Table::new`]; `dimension` when a batch has other columns than the schema.
    pub fn from_batches(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Table> {
        let fields = schema.fields();
        if let Some(other) = batches
            .iter()
            .find(|batch| batch.num_columns() != fields.len())
        {
            return Err(Error::dimension(format!(
                "record batches of {} and {} columns",
                fields.len(),
                other.num_columns()
            )));
        }
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let columns = fields.iter().enumerate().map(|(at, field)| {
            let name: Arc<str> = field.name().as_str().into();
            let parts = batches.iter().map(|batch| Arc::clone(batch.column(at)));
            let parts = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>();
            let column = match parts.as_slice() {
                [] => arrow::array::new_empty_array(field.data_type()),
                [one] => Arc::clone(one),
                _ => {
                    // Each is cast on its own: the dictionaries of batches differ.
                    let kept = parts.iter().map(|part| keep(&name, part));
                    joined(&kept.collect::<Result<Vec<_>>>()?)?
                }
            };
            Ok((name, column))
        });
        Table::with_rows(rows, columns.collect::<Result<_>>()?)
    }

    /// Of a file whose rows are read later: no rows, and the types of all columns, among which may be some that tables do not keep. A
    /// plan may leave those out.
    ///
    /// # Errors
    /// `validation` for a name that comes twice.
    pub fn header(schema: &SchemaRef) -> Result<Table> {
        let fields = schema.fields().iter();
        let names: Vec<Arc<str>> = fields.map(|field| field.name().as_str().into()).collect();
        distinct_names(&names)?;
        let columns = schema.fields().iter().map(|field| {
            let kind = types::kept_as(field.data_type());
            arrow::array::new_empty_array(&kind.unwrap_or_else(|| field.data_type().clone()))
        });
        Table::trusted(0, names, columns.collect())
    }

    /// The table as one batch, which shares its buffers.
    ///
    /// # Errors
    /// `internal` when Arrow refuses the columns.
    pub fn to_record_batch(&self) -> Result<RecordBatch> {
        let fields = self
            .iter()
            .map(|(name, column)| Field::new(&**name, column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(schema, self.columns.to_vec(), &options)
            .map_err(|error| Error::internal(format!("a table is no record batch: {error}")))
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// The column at a place as a matrix of one column; none for texts. It is kept with the table.
    ///
    /// # Errors
    /// `memory`.
    pub(crate) fn numbers(&self, place: usize) -> Result<Option<NumericColumn>> {
        self.numbers[place].numbers(&self.columns[place])
    }

    /// Whether a value of the column at a place is NaN.
    pub(crate) fn has_nan(&self, place: usize) -> bool {
        self.numbers[place].has_nan(&self.columns[place])
    }

    /// The texts of the column at a place by codes of the distinct ones, which are kept with the table; none where coding takes longer
    /// than it saves.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub(crate) fn coded(&self, place: usize) -> Result<Option<ArrayRef>> {
        self.numbers[place].coded(&self.columns[place])
    }

    /// The same if they have been coded before.
    pub(crate) fn known_coded(&self, place: usize) -> Option<ArrayRef> {
        self.numbers[place].known_coded()
    }

    /// The table with another column at a place, of the same values.
    pub(crate) fn with(&self, place: usize, column: ArrayRef) -> Table {
        let mut columns = self.columns.to_vec();
        columns[place] = column;
        let mut numbers = self.numbers.to_vec();
        numbers[place] = ColumnCache::default();
        Table {
            columns: columns.into(),
            numbers: numbers.into(),
            ..self.clone()
        }
    }

    /// The table with a column more, of as many rows. Its name may be that of another one: plans know columns by their places.
    pub(crate) fn with_column(&self, name: Arc<str>, column: ArrayRef) -> Table {
        let names = self.names.iter().cloned().chain([name]);
        let columns = self.columns.iter().cloned().chain([column]);
        let numbers = self.numbers.iter().cloned();
        Table {
            names: names.collect(),
            columns: columns.collect(),
            numbers: numbers.chain([ColumnCache::default()]).collect(),
            ..self.clone()
        }
    }

    /// The columns at these places.
    pub(crate) fn select(&self, places: &[usize]) -> Table {
        Table {
            names: places
                .iter()
                .map(|place| Arc::clone(&self.names[*place]))
                .collect(),
            columns: places
                .iter()
                .map(|place| Arc::clone(&self.columns[*place]))
                .collect(),
            numbers: places
                .iter()
                .map(|place| self.numbers[*place].clone())
                .collect(),
            kept: Arc::clone(&self.kept),
            rows: self.rows,
        }
    }

    /// The same columns by other names.
    pub(crate) fn renamed(self, names: impl IntoIterator<Item = Arc<str>>) -> Table {
        Table {
            names: names.into_iter().collect(),
            ..self
        }
    }

    /// Rows of the table, in the same memory.
    ///
    /// # Errors
    /// As [`Table::trusted`].
    pub(crate) fn slice(&self, rows: Range<usize>) -> Result<Table> {
        let columns = self.columns.iter();
        let columns = columns.map(|column| column.slice(rows.start, rows.len()));
        Table::trusted(rows.len(), self.names.to_vec(), columns.collect())
    }

    /// The groups of its rows by keys, which are kept with the table if these are columns of it.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub(crate) fn groups(&self, keys: &[ArrayRef], are_columns: bool) -> Result<Arc<KeyGroups>> {
        match are_columns {
            true => self.kept.groups(keys),
            false => KeyGroups::of(keys).map(Arc::new),
        }
    }

    /// Keeps the groups by a column of it, which are known.
    pub(crate) fn keep_groups(&self, key: &ArrayRef, groups: KeyGroups) {
        self.kept.keep_groups(key, groups);
    }

    /// The rows that a predicate of these columns selects, which are kept with the table once they are found.
    ///
    /// # Errors
    /// Those of `find`.
    pub(crate) fn flags(
        &self,
        columns: &[ArrayRef],
        predicate: &str,
        find: impl FnOnce() -> Result<BooleanBuffer>,
    ) -> Result<BooleanBuffer> {
        self.kept.flags(columns, predicate, find)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &ArrayRef)> {
        self.names.iter().zip(self.columns.iter())
    }

    /// The column of this name.
    ///
    /// # Errors
    /// `validation` with near names.
    pub fn column(&self, name: &str) -> Result<&ArrayRef> {
        let at = self.names.iter().position(|known| **known == *name);
        let at = at.ok_or_else(|| unknown_column(name, self.names.iter()))?;
        Ok(&self.columns[at])
    }

    /// Names and types.
    pub fn schema(&self) -> Columns {
        self.iter()
            .map(|(name, column)| (Arc::clone(name), column.data_type().clone()))
            .collect()
    }
}

/// The error for a column that is not there.
pub(crate) fn unknown_column<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a Arc<str>>,
) -> Error {
    let known: Vec<&Arc<str>> = known.into_iter().collect();
    let most = (name.chars().count() / 3).max(1);
    let mut near: Vec<_> = known
        .iter()
        .map(|other| {
            (
                strsim::osa_distance(&name.to_lowercase(), &other.to_lowercase()),
                *other,
            )
        })
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort();
    let error = Error::validation(format!("there is no column '{name}'"));
    let quoted = |names: &mut dyn Iterator<Item = &Arc<str>>| {
        names
            .map(|name| format!("'{name}'"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    const SHOWN: usize = 10;
    match near.as_slice() {
        [] if known.is_empty() => error.with_help("the table has no columns"),
        [] => {
            let more = if known.len() > SHOWN { ", ..." } else { "" };
            let known = quoted(&mut known.iter().take(SHOWN).copied());
            error.with_help(format!("the columns are {known}{more}"))
        }
        near => {
            let near = quoted(&mut near.iter().take(3).map(|(_, name)| *name));
            error.with_help(format!("did you mean {near}?"))
        }
    }
}

/// # Errors
/// `validation` for a name that comes twice.
pub(crate) fn distinct_names(names: &[Arc<str>]) -> Result<()> {
    let mut seen = rustc_hash::FxHashSet::default();
    match names.iter().find(|name| !seen.insert(&***name)) {
        None => Ok(()),
        Some(twice) => Err(
            Error::validation(format!("two columns have the name '{twice}'"))
                .with_help("give one of them another name with alias"),
        ),
    }
}

/// The column as tables keep it.
fn keep(name: &str, column: &ArrayRef) -> Result<ArrayRef> {
    let kind = column.data_type();
    let to = types::kept_as(kind).ok_or_else(|| not_kept(name, kind))?;
    let refused = |error: arrow::error::ArrowError| {
        Error::data(format!("column '{name}', of type {kind}: {error}"))
    };
    if to == types::coded_text() {
        return recoded(column).map_err(refused)?;
    }
    if to == *kind {
        return Ok(Arc::clone(column));
    }
    memory::admit(column.get_array_memory_size())?;
    if let DataType::Timestamp(TimeUnit::Nanosecond, _) = kind
        && let DataType::Timestamp(TimeUnit::Microsecond, zone) = &to
    {
        // Down, before 1970 as well: a cast would cut towards it.
        let moments = column.as_primitive::<TimestampNanosecondType>();
        let micros = moments.unary::<_, TimestampMicrosecondType>(|nanos| nanos.div_euclid(1000));
        return Ok(Arc::new(micros.with_timezone_opt(zone.clone())));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(column, &to, &options).map_err(refused)
}

/// The error for a column of a type that tables do not keep.
pub(crate) fn not_kept(name: &str, kind: &DataType) -> Error {
    Error::unsupported(format!(
        "column '{name}' has the type {kind}, which tables do not keep"
    ))
    .with_help("leave it out with drop() or select(), or cast it in the library that made it")
}

type Refused = arrow::error::ArrowError;

fn recoded(column: &ArrayRef) -> Result<Result<ArrayRef>, Refused> {
    let DataType::Dictionary(keys, _) = column.data_type() else {
        return cast(column, &types::coded_text()).map(Ok);
    };
    let dictionary = column.as_any_dictionary();
    if **keys == DataType::Int32 && dictionary.values().data_type() == &DataType::Utf8 {
        return Ok(distinct(column.as_dictionary::<Int32Type>()));
    }
    let values = cast(dictionary.values(), &DataType::Utf8)?;
    let keys = cast(dictionary.keys(), &DataType::Int32)?;
    let keys = keys.as_primitive::<Int32Type>();
    let coded = DictionaryArray::try_new(keys.clone(), values)?;
    Ok(distinct(&coded))
}

/// Columns of one type, one below the other.
///
/// # Errors
/// `unsupported` for more text than one array has room for; `memory`.
pub(crate) fn joined(parts: &[ArrayRef]) -> Result<ArrayRef> {
    Interrupt::current().check()?;
    let bytes = parts.iter().map(|part| part.get_array_memory_size()).sum();
    memory::admit(bytes)?;
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    let all = concat(&parts)
        .map_err(|error| Error::unsupported(format!("one table of several: {error}")))?;
    match all.as_any().downcast_ref::<DictionaryArray<Int32Type>>() {
        Some(coded) => distinct(coded),
        None => Ok(all),
    }
}
