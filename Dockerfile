# The program in a small image:
#   docker build -t tamis . && docker run --rm -v "$PWD:/data" tamis fit customers.csv --target churned
FROM rust:1.95-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends make gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The toolchain of the image, not the one that rust-toolchain.toml would fetch.
RUN RUSTUP_TOOLCHAIN=$RUST_VERSION make release

FROM debian:trixie-slim
COPY --from=build /source/target/release/tamis /usr/local/bin/tamis
COPY --from=build /source/LICENSE-MIT /source/LICENSE-APACHE /usr/share/doc/tamis/
RUN useradd --create-home tamis
USER tamis
WORKDIR /data
ENTRYPOINT ["tamis"]
