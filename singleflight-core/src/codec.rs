//! Values to bytes and back, for backends that keep bytes.

use std::error::Error;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How values are written for a backend that keeps bytes.
///
/// Both formats carry field names, so that fields may be added (with `#[serde(default)]`) and reordered without a new
/// `version`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// MessagePack with field names.
    #[default]
    MessagePack,
    /// JSON, for readers in other languages or by eye.
    #[cfg(feature = "json")]
    Json,
}

/// Why a value could not be written or read.
pub(crate) type CodecError = Box<dyn Error + Send + Sync>;

impl Codec {
    /// The number that records carry.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::MessagePack => 1,
            #[cfg(feature = "json")]
            Self::Json => 2,
        }
    }

    /// The codec with this number, if this build has it.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::MessagePack),
            #[cfg(feature = "json")]
            2 => Some(Self::Json),
            _ => None,
        }
    }

    pub(crate) fn encode<T: Serialize>(self, value: &T) -> Result<Bytes, CodecError> {
        match self {
            Self::MessagePack => Ok(rmp_serde::to_vec_named(value)?.into()),
            #[cfg(feature = "json")]
            Self::Json => Ok(serde_json::to_vec(value)?.into()),
        }
    }

    pub(crate) fn decode<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, CodecError> {
        match self {
            Self::MessagePack => Ok(rmp_serde::from_slice(bytes)?),
            #[cfg(feature = "json")]
            Self::Json => Ok(serde_json::from_slice(bytes)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, serde::Deserialize, PartialEq, Debug)]
    struct User {
        id: u64,
        name: Option<String>,
    }

    fn codecs() -> Vec<Codec> {
        (0..=u8::MAX).filter_map(Codec::from_number).collect()
    }

    #[test]
    fn every_codec_brings_values_back() {
        for codec in codecs() {
            assert_eq!(Codec::from_number(codec.number()), Some(codec));
            for value in
                [None, Some(User { id: u64::MAX, name: None }), Some(User { id: 0, name: Some("é".into()) })]
            {
                let bytes = codec.encode(&value).unwrap();
                assert_eq!(codec.decode::<Option<User>>(&bytes).unwrap(), value, "{codec:?}");
            }
        }
    }

    #[test]
    fn junk_is_an_error_not_a_value() {
        for codec in codecs() {
            assert!(codec.decode::<User>(b"\xc1 junk").is_err(), "{codec:?}");
        }
    }
}
