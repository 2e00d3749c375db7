//! A chart: series of points between two logarithmic axes, with a legend below.

use std::io;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::look::{self, Mark};
use super::scale::{Unit, room, ticks};
use crate::rounds::Spread;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

const WIDTH: u32 = 900;
const HEAD: i32 = 44;
const PLOT: u32 = 440;
/// A line of the legend, which has two columns.
const LINE: u32 = 22;
const COLUMN: i32 = 430;
const MARGIN: i32 = 24;
/// Between the plot and its legend.
const GAP: i32 = 12;
const NOTE: &str = "Bars: half of the measurements lie between their ends. Lines: through the medians.";
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xcc, 0xcc, 0xcc);
const FINE_GRID: RGBColor = RGBColor(0xee, 0xee, 0xee);

/// What an axis is about.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// In words; the unit stands at its values.
    pub what: &'static str,
    /// What it counts.
    pub unit: Unit,
}

struct Series {
    name: String,
    points: Vec<(f64, Spread)>,
}

/// Series of points; both axes are logarithmic.
pub struct Chart {
    name: &'static str,
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

impl Chart {
    /// Without points yet. The name is that of the file.
    pub fn new(name: &'static str, title: &str, x: Axis, y: Axis) -> Self {
        Self { name, title: title.to_owned(), x, y, series: Vec::new() }
    }

    /// That of the file.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One point more of a series, which begins with its first one.
    pub fn add(&mut self, series: &str, x: f64, y: Spread) {
        // Names are Markdown.
        let name = series.replace('`', "");
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push((x, y)),
            None => self.series.push(Series { name, points: vec![(x, y)] }),
        }
    }

    /// Writes it as SVG.
    ///
    /// # Errors
    ///
    /// Those of drawing and writing.
    pub fn draw(&self, path: &Path) -> io::Result<()> {
        let mut text = String::new();
        self.draw_into(&mut text).map_err(io::Error::other)?;
        std::fs::write(path, text)
    }

    fn draw_into(&self, text: &mut String) -> Drawn {
        let lines = u32::try_from(self.series.len().div_ceil(2)).unwrap_or(u32::MAX);
        let height = HEAD as u32 + PLOT + (lines + 1) * LINE + (2 * GAP) as u32;
        let root = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
        // Readers' pages may be dark.
        root.fill(&WHITE)?;
        let title = (FONT, 21).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Center));
        root.draw_text(&self.title, &title, (WIDTH as i32 / 2, HEAD / 2))?;
        self.draw_plot(&root)?;
        self.draw_legend(&root)?;
        root.present()
    }

    fn draw_plot(&self, root: &Area<'_>) -> Drawn {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (x, y) = (
            room(points().map(|(x, _)| *x), 1.3),
            room(points().flat_map(|(_, y)| [y.low, y.median, y.high]), 1.4),
        );
        let (_, below) = root.split_vertically(HEAD);
        let (plot, _) = below.split_vertically(PLOT as i32);
        let ((x_bold, x_light), (y_bold, y_light)) = (ticks(&x), ticks(&y));
        let mut chart = ChartBuilder::on(&plot)
            .margin_left(MARGIN / 2)
            .margin_right(MARGIN)
            .x_label_area_size(56)
            .y_label_area_size(84)
            .build_cartesian_2d(
                x.log_scale().with_key_points(x_bold).with_light_points(x_light),
                y.log_scale().with_key_points(y_bold).with_light_points(y_light),
            )?;
        chart
            .configure_mesh()
            .x_desc(self.x.what)
            .y_desc(self.y.what)
            .x_label_formatter(&|value| self.x.unit.show(*value))
            .y_label_formatter(&|value| self.y.unit.show(*value))
            .label_style((FONT, 17).into_font().color(&INK))
            .axis_desc_style((FONT, 18).into_font().color(&INK))
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(FINE_GRID)
            .draw()?;
        let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
        for series in &self.series {
            let style = look::colour(&series.name).mix(0.3).stroke_width(4);
            for (x, y) in &series.points {
                root.draw(&PathElement::new([at(*x, y.low), at(*x, y.high)], style))?;
            }
        }
        self.series.iter().enumerate().try_for_each(|(number, series)| {
            let points = series.points.iter().map(|(x, y)| at(*x, y.median)).collect();
            series.draw(number, points, root)
        })
    }

    fn draw_legend(&self, root: &Area<'_>) -> Drawn {
        let style = (FONT, 17).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        let lines = self.series.len().div_ceil(2);
        let top = HEAD + PLOT as i32 + GAP;
        for (number, series) in self.series.iter().enumerate() {
            let (column, line) = ((number / lines) as i32, (number % lines) as i32);
            let left = MARGIN + column * COLUMN;
            let middle = top + line * LINE as i32 + LINE as i32 / 2;
            series.draw_sample(number, (left, middle), root)?;
            root.draw_text(&series.name, &style, (left + 46, middle))?;
        }
        let note = top + lines as i32 * LINE as i32 + LINE as i32 / 2;
        root.draw_text(NOTE, &(FONT, 15).into_font().color(&INK).pos(style.pos), (MARGIN, note))
    }
}

impl Series {
    /// A line through these points of the drawing, and a mark on each.
    fn draw(&self, number: usize, points: Vec<(i32, i32)>, root: &Area<'_>) -> Drawn {
        let colour = look::colour(&self.name);
        root.draw(&PathElement::new(points.clone(), colour.stroke_width(2)))?;
        points.into_iter().try_for_each(|point| self.draw_mark(number, point, root))
    }

    /// What stands beside its name.
    fn draw_sample(&self, number: usize, (left, middle): (i32, i32), root: &Area<'_>) -> Drawn {
        let colour = look::colour(&self.name);
        root.draw(&PathElement::new([(left, middle), (left + 36, middle)], colour.stroke_width(2)))?;
        self.draw_mark(number, (left + 18, middle), root)
    }

    fn draw_mark(&self, number: usize, point: (i32, i32), root: &Area<'_>) -> Drawn {
        let (mark, colour) = (Mark::of(number), look::colour(&self.name));
        let mut outline = mark.around(point);
        root.draw(&Polygon::new(outline.clone(), if mark.filled { colour } else { WHITE }))?;
        outline.push(outline[0]);
        root.draw(&PathElement::new(outline, colour.stroke_width(2)))
    }
}
