/** The views of the page on the demo home, by the fragment of their address. `ready`: an element that the view has once it is drawn. */
export const VIEWS: Record<string, { hash: string; ready: string }> = {
  needs: { hash: '#/', ready: '.need .buttons' },
  agents: { hash: '#/agents', ready: '[role=treeitem]' },
  agent: { hash: '#/agents/release', ready: '.message' },
  timeline: { hash: '#/agents/nightly-report/timeline', ready: 'svg.timeline' },
  usage: { hash: '#/usage', ready: 'svg.plot' },
  search: { hash: '#/search/test', ready: 'mark' },
}
