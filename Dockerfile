# syntax=docker/dockerfile:1
# lockshift with git, which it asks what is ignored and when files changed, and the roots that HTTPS is checked against.
#
#   docker build -t lockshift .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/repository" lockshift scan
#
# BINARY=given takes given/lockshift instead of building: a release puts the same bytes into archive and image.
ARG BINARY=built
ARG ALPINE=3.23
ARG RUST=1.95

FROM rust:${RUST}-alpine${ALPINE} AS built
# Alpine removes a version once there is a newer one, so that a pinned one would not build for long.
# hadolint ignore=DL3018
RUN apk add --no-cache musl-dev
WORKDIR /source
COPY . .
# Static: Alpine's Rust links musl into the program.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo install --locked --path . --root /built && mv /built/bin/lockshift /lockshift

FROM scratch AS given
COPY --chmod=0755 given/lockshift /lockshift

# hadolint ignore=DL3006
FROM ${BINARY} AS program

FROM alpine:${ALPINE}
LABEL org.opencontainers.image.title="lockshift" \
      org.opencontainers.image.description="Move Terraform, OpenTofu and Terragrunt state locking from DynamoDB to S3's own lockfile" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
# hadolint ignore=DL3018
RUN apk add --no-cache ca-certificates git \
 && adduser -D -H -u 10001 lockshift
COPY --from=program /lockshift /usr/local/bin/lockshift
COPY LICENSE-APACHE LICENSE-MIT /usr/share/licenses/lockshift/
USER 10001:10001
WORKDIR /repository
ENTRYPOINT ["/usr/local/bin/lockshift"]
CMD ["--help"]
