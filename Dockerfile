# A venue as a small image: what it runs with and nothing else, under a user without rights, with one directory to write to.
# OPERATIONS.md says how it is run. `FROM` is the place to pin a digest.

# Compiles the program, and the pages that it serves.
FROM node:20-bookworm AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build

# What it runs with: the native module is compiled here, where there is a compiler.
FROM node:20-bookworm AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:20-bookworm-slim
WORKDIR /opt/perpetuum
COPY --from=dependencies /build/node_modules ./node_modules
COPY --from=build /build/package.json ./package.json
COPY --from=build /build/fixtures/markets.json ./fixtures/markets.json
COPY --from=build /build/dist/console ./dist/console
COPY --from=build /build/dist/docs ./dist/docs
COPY --from=build /build/dist/tools ./dist/tools
COPY --from=build /build/dist/venue ./dist/venue
# A volume takes its owner from the directory that it is laid over.
RUN install --directory --owner=node --group=node --mode=0700 /var/lib/perpetuum
ENV NODE_ENV=production \
    GLIBC_TUNABLES=glibc.malloc.hugetlb=1 \
    HOST=0.0.0.0 \
    PORT=8080 \
    DATA_DIR=/var/lib/perpetuum
USER node
VOLUME /var/lib/perpetuum
EXPOSE 8080
# It is stopped within ten seconds of SIGTERM, or with full tables 160: run it with --stop-timeout 180.
STOPSIGNAL SIGTERM
# Whether the process answers. Where it serves TLS itself, give `docker run` another --health-cmd.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5m --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=64", "--max-inlined-bytecode-size-cumulative=3000", "--v8-pool-size=1", "--no-parallel-scavenge", "--no-allocation-site-pretenuring", "dist/venue/main.js"]
