use singleflight_core::single_flight;

#[derive(Debug)]
struct LoadError;

fn copy(_: &LoadError) -> LoadError {
    LoadError
}

#[single_flight(key = "user:<id>", ttl = 30, share_error = copy, errors = "retry")]
async fn find(id: u64) -> Result<u64, LoadError> {
    Ok(id)
}

fn main() {}
