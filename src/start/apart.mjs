/**
 * Keeps large, rarely used modules out of the bundle: MCP's client (tool servers) and the check of
 * snapshots (`doctor --all`). The paths are valid from bin/ and from dist/.
 */
export function apart() {
  const files = {
    '@modelcontextprotocol/sdk/client/index.js': '../dist/mcp-client.js',
    '../schema/generated/snapshot-predicates.js': '../dist/snapshot-predicates.cjs',
  }
  return {
    name: 'apart',
    setup({ onResolve }) {
      onResolve({ filter: /(snapshot-predicates|client\/index)\.js$/ }, ({ path: wanted }) =>
        Object.hasOwn(files, wanted) ? { path: files[wanted], external: true } : undefined,
      )
    },
  }
}
