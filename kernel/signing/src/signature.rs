//! The signature over a canonical request.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::encoding::{digit, hex};

type HmacSha256 = Hmac<Sha256>;

const ALGORITHM: &[u8] = b"AWS4-HMAC-SHA256";

/// Returns the signature in hexadecimal, given the key for the scope, the time as
/// `YYYYMMDDTHHMMSSZ`, the scope as it is signed, and the canonical request.
pub fn signature(key: &[u8; 32], timestamp: &[u8], scope: &[u8], canonical: &[u8]) -> String {
    let mac = mac(key, timestamp, scope, canonical);
    hex(&mac.finalize().into_bytes().into())
}

/// Returns whether `given`, in hexadecimal of small letters, is that signature. It takes the same
/// time wherever the two differ.
pub fn is_signature(
    given: &[u8],
    key: &[u8; 32],
    timestamp: &[u8],
    scope: &[u8],
    canonical: &[u8],
) -> bool {
    let expected = mac(key, timestamp, scope, canonical);
    bytes_of(given).is_some_and(|given| expected.verify(&given.into()).is_ok())
}

fn mac(key: &[u8; 32], timestamp: &[u8], scope: &[u8], canonical: &[u8]) -> HmacSha256 {
    let digest = hex(&Sha256::digest(canonical).into());
    // a key that is shorter than a block ends in zeros
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = HmacSha256::new(&block.into());
    let lines = [ALGORITHM, timestamp, scope, digest.as_bytes()];
    mac.update(&lines.join(&b'\n'));
    mac
}

/// Returns the bytes that 64 digits stand for, none of them a capital.
fn bytes_of(given: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if given.len() != 2 * bytes.len() || given.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(given.chunks_exact(2)) {
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of AWS's documentation: `GET /?lifecycle`, of "Authenticating requests:
    /// using the Authorization header".
    #[test]
    fn an_example_of_aws() {
        let canonical = "GET\n/\nlifecycle=\nhost:examplebucket.s3.amazonaws.com\n\
            x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n\
            x-amz-date:20130524T000000Z\n\nhost;x-amz-content-sha256;x-amz-date\n\
            e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let mut key = b"AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_vec();
        for part in ["20130524", "us-east-1", "s3", "aws4_request"] {
            let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
            mac.update(part.as_bytes());
            key = mac.finalize().into_bytes().to_vec();
        }
        assert_eq!(
            signature(
                key.as_slice().try_into().unwrap(),
                b"20130524T000000Z",
                b"20130524/us-east-1/s3/aws4_request",
                canonical.as_bytes(),
            ),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
    }

    #[test]
    fn a_signature_is_itself_alone() {
        let signs = |given: &str| is_signature(given.as_bytes(), &[7; 32], b"t", b"s", b"c");
        let given = signature(&[7; 32], b"t", b"s", b"c");
        assert!(signs(&given));
        assert!(!signs(&given.to_uppercase()));
        assert!(!signs(&given[1..]));
        assert!(!signs(&format!("{given}0")));
        assert!(!signs(&"g".repeat(64)));
        for at in 0..given.len() {
            let other = if given.as_bytes()[at] == b'0' {
                "1"
            } else {
                "0"
            };
            assert!(!signs(&format!(
                "{}{other}{}",
                &given[..at],
                &given[at + 1..]
            )));
        }
    }
}
