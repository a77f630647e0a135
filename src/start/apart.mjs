/**
 * Leaves out of the bundle what is large and for few: tool servers, and agents' programs that call tools. By paths that
 * hold from bin/ and from dist/.
 */
export function apart() {
  const files = {
    '@modelcontextprotocol/sdk/client/index.js': '../dist/mcp-client.js',
    './mcp-server.js': '../dist/mcp-server.js',
  }
  return {
    name: 'apart',
    setup({ onResolve }) {
      onResolve({ filter: /mcp-server\.js$|client\/index\.js$/ }, ({ path: wanted }) =>
        Object.hasOwn(files, wanted) ? { path: files[wanted], external: true } : undefined,
      )
    },
  }
}
