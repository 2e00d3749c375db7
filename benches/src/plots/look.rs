//! How series are told apart: a colour for each crate, from the palette of Okabe and Ito, which the colour-blind can tell
//! apart too, and a mark for each series, so that nothing hangs on colour alone.

use plotters::style::RGBColor;

/// A colour, and what is in the names that have it; the first that fits. What fits none is a measure, not a crate.
const COLOURS: [(&str, RGBColor); 8] = [
    ("single_flight", BLUE),
    ("ours", BLUE),
    ("moka", RGBColor(0xd5, 0x5e, 0x00)),
    ("quick_cache", RGBColor(0x00, 0x9e, 0x73)),
    ("foyer", RGBColor(0x56, 0xb4, 0xe9)),
    ("hitbox", RGBColor(0xe6, 0x9f, 0x00)),
    ("cached", RGBColor(0xcc, 0x79, 0xa7)),
    ("amalgam", RGBColor(0x22, 0x22, 0x22)),
];
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const GREY: RGBColor = RGBColor(0x88, 0x88, 0x88);

/// The colour of a series.
pub(super) fn colour(name: &str) -> RGBColor {
    COLOURS.iter().find(|(part, _)| name.contains(part)).map_or(GREY, |(_, colour)| *colour)
}

/// The outline of a mark, and whether it is filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    corners: &'static [(i32, i32)],
    pub(super) filled: bool,
}

/// In the order in which series get them, filled and hollow by turns: as seven is odd, fourteen series differ.
const SHAPES: [&[(i32, i32)]; 7] = [
    // A circle, near enough.
    &[
        (5, 0),
        (4, 3),
        (3, 4),
        (0, 5),
        (-3, 4),
        (-4, 3),
        (-5, 0),
        (-4, -3),
        (-3, -4),
        (0, -5),
        (3, -4),
        (4, -3),
    ],
    // A square.
    &[(4, 4), (-4, 4), (-4, -4), (4, -4)],
    // A triangle.
    &[(0, -6), (5, 4), (-5, 4)],
    // A diamond.
    &[(0, -6), (6, 0), (0, 6), (-6, 0)],
    // A triangle that stands on its head.
    &[(0, 6), (5, -4), (-5, -4)],
    // A cross.
    &[
        (2, -6),
        (2, -2),
        (6, -2),
        (6, 2),
        (2, 2),
        (2, 6),
        (-2, 6),
        (-2, 2),
        (-6, 2),
        (-6, -2),
        (-2, -2),
        (-2, -6),
    ],
    // An hourglass.
    &[(-5, -5), (5, -5), (-5, 5), (5, 5)],
];

impl Mark {
    /// That of a chart's series with this number.
    pub(super) fn of(series: usize) -> Self {
        Self { corners: SHAPES[series % SHAPES.len()], filled: series.is_multiple_of(2) }
    }

    /// Around this point.
    pub(super) fn around(self, (x, y): (i32, i32)) -> Vec<(i32, i32)> {
        self.corners.iter().map(|(right, down)| (x + right, y + down)).collect()
    }
}
