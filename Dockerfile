# The image of substrat, built from this source tree. docs/containers.md says how to build it and how to run it.
# BASE is an image with Node 20.19 or newer, npm and the shell tools of Debian.
ARG BASE=docker.io/library/node:22-bookworm-slim

FROM ${BASE} AS build
WORKDIR /source
COPY package.json package-lock.json ./
COPY plugins ./plugins
RUN npm ci --no-audit --no-fund --no-update-notifier
COPY . .
RUN npm pack --pack-destination /tmp \
 && npm install --global --prefix /installed --no-audit --no-fund --no-update-notifier /tmp/substrat-*.tgz

FROM ${BASE}
# Without a machine-id, a container is a host of its own in a shared home. The two directories have the mode of /tmp: `--user` can
# then name any user, with or without an entry in /etc/passwd. A home itself is readable only by its owner.
RUN rm -f /etc/machine-id \
 && useradd --uid 10001 --home-dir /home/substrat --no-create-home --no-log-init substrat \
 && install --directory --mode 1777 /home/substrat /work
COPY --from=build /installed/ /usr/local/
COPY --chmod=0755 container/with-secrets container/worker /usr/local/bin/
# Also for a user without an entry in /etc/passwd.
ENV HOME=/home/substrat
# Agents, tokens, plugins, settings, and the conversations of agent programs.
VOLUME /home/substrat
WORKDIR /work
USER substrat
# For `serve --listen 0.0.0.0:4777`. The page needs no token.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4777/').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["substrat"]
