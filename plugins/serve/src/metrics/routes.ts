import { type Route, route } from '../route.js'
import { openStore } from '../server.js'

const TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

export const METRICS: Route[] = [
  route({
    method: 'get',
    needs: 'read',
    path: '/metrics',
    id: 'readMetrics',
    tag: 'home',
    summary: 'Read the metrics in the OpenMetrics format',
    answers: { 200: { description: 'The metrics.', text: TYPE } },
    handle: async ({ server }) =>
      new Response(await server.metrics.text(openStore(server)), { headers: { 'content-type': TYPE } }),
  }),
]
