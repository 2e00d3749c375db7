//! The pictures of the documentation, taken when asked for: `cargo test -p singleflight-lab --test browser -- --ignored pictures`.

use std::path::Path;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::PAD;

use crate::controls::Page;

/// No picture is larger, so that the repository stays small.
const LARGEST: usize = 200_000;

/// File, lesson, where to scroll to, and the size of the window.
const PICTURES: [(&str, &str, &str, (u32, u32)); 3] = [
    ("herd", "herd", "header", (1280, 960)),
    ("plain-del", "plain_del", "#stage", (1280, 900)),
    ("phone", "herd", "#stage", (390, 844)),
];

#[tokio::test]
#[ignore = "writes docs/lab"]
async fn of_the_documentation() {
    let page = Page::open().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    for theme in ["light", "dark"] {
        page.browser.prefers("prefers-color-scheme", theme).await;
        for (file, lesson, place, (width, height)) in PICTURES {
            page.browser.size(width, height).await;
            page.browser.open(&page.lab.url).await;
            let before = page.asked().await;
            page.browser.run(&format!("document.querySelector('[data-preset={lesson}]').click()")).await;
            page.finished(before).await;
            let scroll = format!(
                "document.activeElement.blur(); scrollTo({{ top: document.querySelector('{place}').getBoundingClientRect().top + \
                 scrollY - 16, behavior: 'instant' }})"
            );
            page.browser.run(&scroll).await;
            let picture = GeneralPurpose::new(&STANDARD, PAD)
                .decode(page.browser.picture().await)
                .expect("it is base64");
            assert!(picture.len() < LARGEST, "{file}-{theme}: {} bytes", picture.len());
            std::fs::write(folder.join(format!("{file}-{theme}.png")), picture)
                .expect("the folder can be written to");
        }
    }
}
