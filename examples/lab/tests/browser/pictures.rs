//! The pictures of the documentation, taken when asked for: `cargo test -p singleflight-lab --test browser -- --ignored pictures`.

use std::path::Path;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::PAD;

use crate::controls::Page;

/// No picture is larger, so that the repository stays small.
const LARGEST: usize = 200_000;

/// File, lesson, and the width of the window.
const PICTURES: [(&str, &str, u32); 3] = [
    ("docs/lab/herd", "herd", 900),
    // The book takes nothing from outside.
    ("guide/chapters/lab/renewal", "renewal", 900),
    ("guide/chapters/lab/phone", "losers-stale-wait", 390),
];

/// From the buttons above the timeline to those below it.
const RACE: &str = "const [above, below] = ['stage', 'replay'].map((id) => document.getElementById(id).getBoundingClientRect()); \
                    return { x: 0, y: above.top + scrollY - 12, width: innerWidth, height: below.bottom - above.top + 24, scale: 1 }";

#[tokio::test]
#[ignore = "writes the pictures of the documentation"]
async fn of_the_documentation() {
    let page = Page::open().await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for theme in ["light", "dark"] {
        page.browser.prefers("prefers-color-scheme", theme).await;
        for (file, lesson, width) in PICTURES {
            page.browser.size(width, 1000).await;
            page.browser.open(&page.lab.url).await;
            let before = page.asked().await;
            page.browser.click(&format!("[data-preset='{lesson}']")).await;
            page.finished(before).await;
            page.browser
                .run("document.activeElement.blur(); scrollTo({ top: 0, behavior: 'instant' })")
                .await;
            let picture = page.browser.picture(page.browser.run(RACE).await).await;
            let picture = GeneralPurpose::new(&STANDARD, PAD).decode(picture).expect("it is base64");
            assert!(picture.len() < LARGEST, "{file}-{theme}: {} bytes", picture.len());
            let path = root.join(format!("{file}-{theme}.png"));
            std::fs::create_dir_all(path.parent().expect("it is in a folder"))
                .expect("the folder can be made");
            std::fs::write(path, picture).expect("the folder can be written to");
        }
    }
}
