//! Sizes of layers that move a window over images, and what does not fit.

use std::{fmt, ops::Range};

use fulgurite_error::{Error, Result};

use crate::MatrixBlock;

/// Rows and columns, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub rows: Option<u64>,
    pub cols: Option<u64>,
}

impl Shape {
    pub fn of(block: &MatrixBlock) -> Self {
        Shape {
            rows: Some(block.rows() as u64),
            cols: Some(block.cols() as u64),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", Shown(self.rows), Shown(self.cols))
    }
}

/// A number, or `?`.
struct Shown(Option<u64>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number}"),
            None => f.write_str("?"),
        }
    }
}

/// What a matrix of a layer has in its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An image that the window moves over.
    Images,
    /// A filter.
    Filters,
    /// For an image, a channel for each filter, or for each of its own, with a pixel for each place of the window.
    Results,
}

/// A layer that moves a window over images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowLayer {
    Conv2d,
    Conv2dBackwardFilter,
    Conv2dBackwardData,
    MaxPool,
    MaxPoolBackward,
    AvgPool,
    AvgPoolBackward,
}

impl WindowLayer {
    pub const ALL: [WindowLayer; 7] = [
        WindowLayer::Conv2d,
        WindowLayer::Conv2dBackwardFilter,
        WindowLayer::Conv2dBackwardData,
        WindowLayer::MaxPool,
        WindowLayer::MaxPoolBackward,
        WindowLayer::AvgPool,
        WindowLayer::AvgPoolBackward,
    ];

    pub fn name(self) -> &'static str {
        match self {
            WindowLayer::Conv2d => "conv2d",
            WindowLayer::Conv2dBackwardFilter => "conv2d_backward_filter",
            WindowLayer::Conv2dBackwardData => "conv2d_backward_data",
            WindowLayer::MaxPool => "max_pool",
            WindowLayer::MaxPoolBackward => "max_pool_backward",
            WindowLayer::AvgPool => "avg_pool",
            WindowLayer::AvgPoolBackward => "avg_pool_backward",
        }
    }

    /// Its matrices, in order.
    pub fn operands(self) -> &'static [(&'static str, Role)] {
        match self {
            WindowLayer::Conv2d => &[("input", Role::Images), ("filter", Role::Filters)],
            WindowLayer::Conv2dBackwardFilter => {
                &[("input", Role::Images), ("dout", Role::Results)]
            }
            WindowLayer::Conv2dBackwardData => {
                &[("filter", Role::Filters), ("dout", Role::Results)]
            }
            WindowLayer::MaxPool | WindowLayer::AvgPool => &[("input", Role::Images)],
            WindowLayer::MaxPoolBackward | WindowLayer::AvgPoolBackward => {
                &[("input", Role::Images), ("dout", Role::Results)]
            }
        }
    }

    pub fn gives(self) -> Role {
        match self {
            WindowLayer::Conv2d | WindowLayer::MaxPool | WindowLayer::AvgPool => Role::Results,
            WindowLayer::Conv2dBackwardFilter => Role::Filters,
            WindowLayer::Conv2dBackwardData
            | WindowLayer::MaxPoolBackward
            | WindowLayer::AvgPoolBackward => Role::Images,
        }
    }

    /// Whether its window is a filter.
    pub fn has_filters(self) -> bool {
        match self {
            WindowLayer::Conv2d
            | WindowLayer::Conv2dBackwardFilter
            | WindowLayer::Conv2dBackwardData => true,
            WindowLayer::MaxPool
            | WindowLayer::MaxPoolBackward
            | WindowLayer::AvgPool
            | WindowLayer::AvgPoolBackward => false,
        }
    }
}

/// Sizes of a layer, as far as they are known: when it runs, all are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSizes {
    /// Images, channels, height and width.
    pub input: [Option<u64>; 4],
    /// How many filters, and their channels; `None` of pools.
    pub filters: Option<[Option<u64>; 2]>,
    /// Height and width of the window.
    pub window: [Option<u64>; 2],
    pub stride: [Option<u64>; 2],
    pub padding: [Option<u64>; 2],
}

impl WindowSizes {
    /// Places of the window, down and across.
    fn places(&self) -> [Option<u64>; 2] {
        [0, 1].map(|axis| {
            let padded = self.padded(axis)?;
            let stride = self.stride[axis].filter(|stride| *stride > 0)?;
            (padded.checked_sub(self.window[axis]?)? / stride).checked_add(1)
        })
    }

    fn padded(&self, axis: usize) -> Option<u64> {
        self.padding[axis]?
            .checked_mul(2)?
            .checked_add(self.input[2 + axis]?)
    }

    /// Channels of results.
    fn result_channels(&self) -> Option<u64> {
        match self.filters {
            Some([filters, _]) => filters,
            None => self.input[1],
        }
    }

    /// What a matrix of this role has to be.
    pub fn shape(&self, role: Role) -> Shape {
        let [images, channels, height, width] = self.input;
        let product = |factors: [Option<u64>; 3]| {
            let mut product = Some(1u64);
            for factor in factors {
                product = product.zip(factor).and_then(|(x, y)| x.checked_mul(y));
            }
            product
        };
        match role {
            Role::Images => Shape {
                rows: images,
                cols: product([channels, height, width]),
            },
            Role::Filters => Shape {
                rows: self.filters.and_then(|[filters, _]| filters),
                cols: product([channels, self.window[0], self.window[1]]),
            },
            Role::Results => {
                let [down, across] = self.places();
                Shape {
                    rows: images,
                    cols: product([self.result_channels(), down, across]),
                }
            }
        }
    }

    /// Everything that certainly does not fit, with these shapes of operands.
    pub fn misfits(&self, layer: WindowLayer, operands: &[Shape]) -> Vec<String> {
        let mut misfits = Vec::new();
        let [_, channels, height, width] = self.input;
        for (axis, stride) in ["down", "across"].into_iter().zip(self.stride) {
            if stride == Some(0) {
                misfits.push(format!("the stride {axis} is 0"));
            }
        }
        let [window_height, window_width] = self.window.map(Shown);
        if self.window.contains(&Some(0)) {
            misfits.push(format!(
                "a window of {window_height} x {window_width} is empty"
            ));
        }
        let too_large = |axis: usize| {
            let sizes = self.window[axis].zip(self.padded(axis));
            sizes.is_some_and(|(window, padded)| window > padded)
        };
        if too_large(0) || too_large(1) {
            let [down, across] = self.padding.map(Shown);
            misfits.push(format!(
                "a window of {window_height} x {window_width} is larger than images of {} x {} with padding of {down} and {across}",
                Shown(height),
                Shown(width),
            ));
        }
        if let Some([_, Some(filter_channels)]) = self.filters
            && channels.is_some_and(|channels| channels != filter_channels)
        {
            misfits.push(format!(
                "filter_shape has {filter_channels} channels, and input_shape {}",
                Shown(channels)
            ));
        }
        for ((name, role), found) in layer.operands().iter().zip(operands) {
            let wanted = self.shape(*role);
            let differs = |found: Option<u64>, wanted: Option<u64>| {
                found
                    .zip(wanted)
                    .is_some_and(|(found, wanted)| found != wanted)
            };
            if differs(found.rows, wanted.rows) || differs(found.cols, wanted.cols) {
                let why = match role {
                    Role::Images => "input_shape makes it",
                    Role::Filters => "filter_shape makes it",
                    Role::Results => "the other shapes make it",
                };
                misfits.push(format!("'{name}' is {found}, and {why} {wanted}"));
            }
        }
        misfits
    }
}

/// Sizes that are known and fit each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Geometry {
    pub images: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Channels of results.
    pub result_channels: usize,
    pub window: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    /// Places of the window, down and across.
    pub places: [usize; 2],
}

impl Geometry {
    pub fn new(layer: WindowLayer, sizes: &WindowSizes) -> Result<Self> {
        let known = |size: Option<u64>| {
            let size = size.and_then(|size| usize::try_from(size).ok());
            size.ok_or_else(|| {
                Error::dimension(format!("the sizes of {} are too large", layer.name()))
            })
        };
        let pair = |pair: [Option<u64>; 2]| Ok::<_, Error>([known(pair[0])?, known(pair[1])?]);
        // All products of sizes below are products of columns, or parts of them.
        for role in [Role::Images, Role::Results] {
            known(sizes.shape(role).cols)?;
        }
        if layer.has_filters() {
            known(sizes.shape(Role::Filters).cols)?;
        }
        let [images, channels, height, width] = sizes.input;
        Ok(Geometry {
            images: known(images)?,
            channels: known(channels)?,
            height: known(height)?,
            width: known(width)?,
            result_channels: known(sizes.result_channels())?,
            window: pair(sizes.window)?,
            stride: pair(sizes.stride)?,
            padding: pair(sizes.padding)?,
            places: pair(sizes.places())?,
        })
    }

    /// Rows and columns of a matrix of this role.
    pub fn shape(&self, role: Role) -> (usize, usize) {
        match role {
            Role::Images => (self.images, self.image()),
            Role::Filters => (self.result_channels, self.filter()),
            Role::Results => (self.images, self.result()),
        }
    }

    /// Pixels of an image in all channels.
    pub fn image(&self) -> usize {
        self.channels * self.pixels()
    }

    /// Pixels of a channel.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Weights of a filter.
    pub fn filter(&self) -> usize {
        self.channels * self.window[0] * self.window[1]
    }

    /// Places of the window on a channel.
    pub fn result_pixels(&self) -> usize {
        self.places[0] * self.places[1]
    }

    /// Cells of a row of results.
    pub fn result(&self) -> usize {
        self.result_channels * self.result_pixels()
    }

    /// The row of an image under a row of the window at a place; `None` in the padding.
    pub fn image_row(&self, place: usize, window_row: usize) -> Option<usize> {
        let row = (place * self.stride[0] + window_row).checked_sub(self.padding[0])?;
        (row < self.height).then_some(row)
    }

    /// The places across whose column `window_col` of the window lies in the image: from the first, up to the last and without it.
    pub fn places_inside(&self, window_col: usize) -> Range<usize> {
        let (stride, padding) = (self.stride[1], self.padding[1]);
        let first = padding.saturating_sub(window_col).div_ceil(stride);
        let end = (self.width + padding)
            .saturating_sub(window_col)
            .div_ceil(stride)
            .min(self.places[1]);
        first.min(end)..end
    }

    /// The column of an image under column `window_col` of the window at a place inside.
    pub fn image_col(&self, place: usize, window_col: usize) -> usize {
        place * self.stride[1] + window_col - self.padding[1]
    }

    /// Whether the places of the window are the pixels of a channel: then nothing has to be laid out.
    pub fn sees_each_pixel_once(&self) -> bool {
        self.window == [1, 1] && self.stride == [1, 1] && self.padding == [0, 0]
    }

    /// Stretches of an image, one a row, under the window of a cell of its result.
    pub fn pixels_under(&self, result: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let [down, across] = self.places;
        let (line, place) = (result / across.max(1), result % across.max(1));
        let (channel, rows) = (line / down.max(1), self.covered(0, line % down.max(1)));
        let (cols, width, first) = (self.covered(1, place), self.width, channel * self.pixels());
        rows.map(move |row| {
            let start = first + row * width;
            start + cols.start..start + cols.end
        })
    }

    /// Rows of an image, or its columns, under the window at a place.
    fn covered(&self, axis: usize, place: usize) -> Range<usize> {
        let limit = [self.height, self.width][axis];
        let start = place * self.stride[axis];
        let padding = self.padding[axis];
        let end = (start + self.window[axis])
            .saturating_sub(padding)
            .min(limit);
        start.saturating_sub(padding).min(end)..end
    }
}
