/** The routes of schedules. Each runs the command of its name. */
import { z } from 'zod'
import { flags } from '../../shared/src/face/arguments.js'
import { isRun } from '../../shared/src/face/follow.js'
import { type Route, route } from './route.js'
import { findAgent } from './server.js'
import { changedScheduleShape, scheduleShape, schedulesShape } from './shapes.js'
import { runTurn, TURN, timeout } from './turns.js'

const schedule = z.string().min(1).max(100).describe('Its name or id.')
const CHANGE = { method: 'post' as const, tag: 'schedules', needs: 'all' as const }

export const SCHEDULES: Route[] = [
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/schedules',
    id: 'listSchedules',
    tag: 'schedules',
    summary: 'List schedules with their next slot and the outcome of the last ones',
    query: z.object({ agent: z.string().optional().describe('Only those of this agent.') }),
    answers: { 200: { description: 'The schedules.', shape: schedulesShape } },
    handle: async ({ server, query: { agent }, signal }) => {
      const ids = agent === undefined ? [] : [findAgent(server, agent).agentId]
      const { results } = await server.commands.finish(['schedule', 'list', '--json', ...ids], { signal })
      return { status: 200, body: results[0] as object }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents/{agent}/schedule',
    id: 'showSchedule',
    tag: 'schedules',
    summary: 'Show a schedule with its next slots',
    query: z.object({ schedule }),
    answers: { 200: { description: 'The schedule.', shape: scheduleShape } },
    handle: async ({ server, agent, query, signal }) => {
      const { agentId } = findAgent(server, agent)
      const args = ['schedule', 'show', '--json', '--', agentId, query.schedule]
      const { results } = await server.commands.finish(args, { signal })
      return { status: 200, body: results[0] as object }
    },
  }),
  route({
    ...CHANGE,
    path: '/v1/agents/{agent}/schedules',
    id: 'addSchedule',
    summary: 'Send an agent a message at the times of a calendar',
    description:
      'Repeating it changes nothing. With the name of a schedule and other values, it replaces that one.',
    body: z.object({
      when: z.string().describe('Five fields of cron, or an interval: `every 15m`, `every 1h`, `every 1d`.'),
      content: z.string().describe('The message.'),
      name: z.string().optional().describe('Default: the first free number.'),
      time_zone: z.string().optional().describe('Default: the zone of the server.'),
      missed: z.enum(['once', 'skip', 'all']).optional(),
      overlap: z.enum(['skip', 'queue']).optional(),
      until: z.string().optional().describe('The last time, or a duration from now.'),
      jitter: z.string().optional().describe('Such as `5m`.'),
      timeout,
    }),
    answers: { 200: { description: 'The schedule.', shape: changedScheduleShape } },
    handle: async ({ server, agent, body }) => {
      const { when, content, name, time_zone: tz, missed, overlap, until, jitter, timeout } = body
      const given = flags({ name, tz, missed, overlap, until, jitter, timeout })
      const args = ['schedule', 'add', '--json', ...given, '--', findAgent(server, agent).agentId, when, '-']
      return { status: 200, body: await server.commands.result(args, { input: `${content}\n` }) }
    },
  }),
  route({
    ...CHANGE,
    path: '/v1/agents/{agent}/schedules/change',
    id: 'changeSchedule',
    summary: 'Pause, resume or remove a schedule',
    body: z.object({ schedule, change: z.enum(['pause', 'resume', 'remove']), timeout }),
    answers: { 200: { description: 'The schedule after the change.', shape: changedScheduleShape } },
    handle: async ({ server, agent, body }) => {
      const { schedule: word, change, timeout } = body
      const { agentId } = findAgent(server, agent)
      const args = ['schedule', change, '--json', ...flags({ timeout }), '--', agentId, word]
      return { status: 200, body: await server.commands.result(args) }
    },
  }),
  route({
    ...TURN,
    tag: 'schedules',
    path: '/v1/agents/{agent}/schedules/run',
    id: 'runSchedule',
    summary: 'Run the message of a schedule now, outside its calendar',
    body: z.object({ schedule, timeout }),
    handle: (call) => {
      const { agentId } = findAgent(call.server, call.agent)
      const { schedule: word, timeout } = call.body
      const args = ['schedule', 'run-now', ...flags({ timeout }), '--', agentId, word]
      return runTurn(call, { args, isOurs: isRun(agentId) })
    },
  }),
]
