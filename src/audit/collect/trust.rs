//! Who may be sent signed requests. A repository may name an endpoint or a region, and whoever wrote it may not be whom
//! the user's credentials are meant for: a signature gives no secret key away, but a session's token goes along in the
//! open. So what only a repository names is asked when it is AWS's own or this machine; everything else when the user
//! names it, too.

use crate::audit::endpoint::Place;

/// Why an endpoint is not asked; none where it may be. `named` are the endpoints that the user named.
pub(super) fn distrust<'n>(endpoint: &str, named: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let place = Place::of(endpoint);
    let is_named = || {
        place
            .as_ref()
            .is_some_and(|place| named.into_iter().any(|name| Place::of(name).as_ref() == Some(place)))
    };
    match &place {
        Some(place) if place.is_here() || place.is_aws() => None,
        _ if is_named() => None,
        _ => Some(format!(
            "`{endpoint}` is named by the repository alone, and is neither AWS's own nor this machine: nothing was \
             sent there, since credentials would go along; where it is yours, add `--trust-endpoint {endpoint}`"
        )),
    }
}

/// Why a region is none; none where it can be one. It becomes a part of a host's name.
pub(super) fn no_region(region: &str) -> Option<String> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_region = !region.is_empty() && region.len() <= 63 && region.bytes().all(sound);
    (!is_region).then(|| format!("`{region}` is no region: letters, digits and `-` are"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aws_and_this_machine_are_asked() {
        for endpoint in [
            "https://s3.eu-west-1.amazonaws.com",
            "https://S3.amazonaws.com/",
            "https://s3.dualstack.us-gov-west-1.amazonaws.com:443",
            "https://s3-fips.us-east-1.amazonaws.com",
            "https://dynamodb.cn-north-1.amazonaws.com.cn",
            "https://bucket.vpce-0a1b2c-3d4e.s3.eu-west-1.vpce.amazonaws.com",
            "http://127.0.0.1:5000",
            "http://localhost:4566/",
            "https://[::1]:9000",
        ] {
            assert_eq!(distrust(endpoint, []), None, "{endpoint}");
        }
    }

    #[test]
    fn everybody_else_is_asked_when_the_user_names_them() {
        for endpoint in [
            "https://s3.example.com",
            "http://s3.eu-west-1.amazonaws.com",
            "https://s3.eu-west-1.amazonaws.com:8443",
            "https://s3.eu-west-1.amazonaws.com.example.com",
            "https://x.execute-api.eu-west-1.amazonaws.com",
            "https://s3.eu-west-1.elb.amazonaws.com",
            "https://s3-1.eu-west-1.elb.amazonaws.com",
            "https://vpce-1.vpce-svc-2.eu-west-1.vpce.amazonaws.com",
            "https://s3.eu-west-1.amazonaws.com@example.com",
            "https://example.com\\@s3.eu-west-1.amazonaws.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.7:9000",
            "http://127.0.0.1:80@example.com/",
            "http://[::ffff:10.0.0.7]/",
            "ftp://127.0.0.1",
            "example.com",
            "",
        ] {
            let why = distrust(endpoint, ["https://other.example.com"]).expect(endpoint);
            assert!(why.contains("nothing was sent there"), "{why}");
        }
        let named = ["https://Minio.internal:9000/", "http://10.0.0.7"];
        assert_eq!(distrust("https://minio.internal:9000", named), None);
        assert_eq!(distrust("http://10.0.0.7:80/x", named), None);
        assert!(distrust("http://minio.internal:9000", named).is_some(), "without TLS it is another place");
        assert!(distrust("https://minio.internal", named).is_some(), "another port is another place");
    }

    #[test]
    fn a_region_names_no_host_of_its_own() {
        for region in ["eu-west-1", "us-gov-west-1", "garage", "local_1"] {
            assert_eq!(no_region(region), None, "{region}");
        }
        for region in
            ["", "x.example.com/", "eu-west-1.example.com", "a b", "a#", "a@b", "ü", &"a".repeat(64)]
        {
            assert!(no_region(region).is_some(), "{region}");
        }
    }
}
