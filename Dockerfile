# `timestrata serve` as a user of its own, over a volume. Made of a wheel: `make wheels` first.
#   docker build -t timestrata .
#   docker run -p 8080:8080 -v timestrata:/data -v ./tokens:/run/secrets/tokens:ro timestrata
FROM python:3.13-slim-bookworm

RUN groupadd --system --gid 10001 timestrata \
    && useradd --system --uid 10001 --gid timestrata --no-create-home --shell /usr/sbin/nologin timestrata \
    && install --directory --mode=0700 --owner=timestrata --group=timestrata /data

# pip takes the wheel of this machine's kind among those that are there: no other version can come.
# hadolint ignore=DL3013
RUN --mount=type=bind,source=dist,target=/dist \
    pip install --no-cache-dir --no-index --find-links=/dist timestrata

# As a number, so that who runs it sees that it isn't root's.
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s CMD \
    ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["timestrata"]
# Who listens beyond loopback wants tokens: a line each, in a file that only who runs this could change.
CMD ["serve", "/data", "--listen", "0.0.0.0:8080", "--token-file", "/run/secrets/tokens"]
