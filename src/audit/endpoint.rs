//! What an endpoint's URL says of where requests go. Pure.

/// AWS's own services that are asked at an endpoint that a backend names.
const SERVICES: &[&str] = &["s3", "s3-fips", "dynamodb", "dynamodb-fips"];

/// Domains of AWS, one for each partition.
const DOMAINS: &[&str] = &[".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu"];

/// Whether AWS itself answers there: FIPS, dual-stack, regional and VPC endpoints do, and speak for the same buckets.
pub(super) fn is_aws(endpoint: &str) -> bool {
    Place::of(endpoint).is_some_and(|place| place.is_host_of_aws())
}

/// Where requests to a URL go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    is_tls: bool,
    /// In lower case.
    host: String,
    port: u16,
}

impl Place {
    /// Of `http://` and `https://` URLs. None for whatever else, which is then nobody's place.
    pub(super) fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        // Whoever reads it otherwise would go elsewhere.
        if authority.contains('@') || !authority.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (authority, if is_tls { 443 } else { 80 }),
        };
        (!host.is_empty()).then(|| Self { is_tls, host: host.to_ascii_lowercase(), port })
    }

    /// This machine: whoever listens here was started here.
    #[cfg(feature = "aws")]
    pub(super) fn is_here(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        self.host == "localhost"
            || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// S3 or DynamoDB itself, over TLS. Not all of `amazonaws.com`: anybody can have a load balancer or an API there.
    /// Source: "Amazon S3 endpoints", "Amazon DynamoDB endpoints" (AWS General Reference) and "AWS PrivateLink for
    /// Amazon S3": `SERVICE.REGION`, `SERVICE.dualstack.REGION`, `….vpce-ID.SERVICE.REGION.vpce`.
    #[cfg(feature = "aws")]
    pub(super) fn is_aws(&self) -> bool {
        self.is_tls && self.port == 443 && self.is_host_of_aws()
    }

    /// Whoever asks it, and however.
    fn is_host_of_aws(&self) -> bool {
        let Some(name) = DOMAINS.iter().find_map(|domain| self.host.strip_suffix(domain)) else {
            return false;
        };
        let labels: Vec<&str> = name.split('.').collect();
        let is_service = |label: &str| SERVICES.contains(&label);
        // A region ends with a number, which `elb`, `compute` and the like do not.
        let is_region = |label: &str| label.contains('-') && label.ends_with(|c: char| c.is_ascii_digit());
        match labels.as_slice() {
            [service] => is_service(service),
            [service, region] | [service, "dualstack", region] => is_service(service) && is_region(region),
            [.., endpoint, service, region, "vpce"] => {
                endpoint.starts_with("vpce-") && is_service(service) && is_region(region)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_aws_is_aws_and_nobody_else() {
        for endpoint in [
            "https://s3.eu-west-1.amazonaws.com",
            "http://s3.eu-west-1.amazonaws.com",
            "https://s3-fips.us-east-1.amazonaws.com",
            "https://s3.dualstack.eu-west-1.amazonaws.com/",
            "https://bucket.vpce-0a1b2c-3d4e.s3.eu-west-1.vpce.amazonaws.com",
        ] {
            assert!(is_aws(endpoint), "{endpoint}");
        }
        for endpoint in [
            "http://127.0.0.1:9000",
            "https://minio.example.com",
            "https://s3.eu-west-1.amazonaws.com.example.com",
            "https://s3.eu-west-1.elb.amazonaws.com",
            "s3.eu-west-1.amazonaws.com",
        ] {
            assert!(!is_aws(endpoint), "{endpoint}");
        }
    }
}
