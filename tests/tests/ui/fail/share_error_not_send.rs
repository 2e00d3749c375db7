use singleflight_core::single_flight;

struct LoadError(std::rc::Rc<str>);

fn copy(error: &LoadError) -> LoadError {
    LoadError(error.0.clone())
}

#[single_flight(key = "user:<id>", ttl = 30, share_error = copy)]
async fn find(id: u64) -> Result<u64, LoadError> {
    Ok(id)
}

fn main() {}
