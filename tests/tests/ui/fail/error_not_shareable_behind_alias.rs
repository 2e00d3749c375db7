use singleflight_core::single_flight;

#[derive(Debug)]
struct ApiError;

type Api<T> = Result<T, ApiError>;

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64) -> Api<u64> {
    Ok(id)
}

fn main() {}
