/**
 * The conformance suite (`substrat/conformance`): the rules for every provider, as cases for any test runner.
 *
 *     for (const { title, run } of conformanceCases(provider, fixture)) test(title, run)
 *
 * A case throws an Error that names the broken rule.
 */

import type { ModelEvent, ModelProvider, Provider, ProviderSettings } from '../contract.js'
import { findProgram } from '../find-program.js'
import { agentCases } from './agent.js'
import {
  type ConformanceCase,
  type ConformanceFixture,
  caseOf,
  collect,
  demand,
  MODEL_EVENTS,
  neverSignal,
} from './case.js'
import { failureCase, failureOf, refusalCase, stopCase } from './ends.js'
import { reasoningCases } from './reasoning.js'
import { toolCases } from './tools.js'

export type { ConformanceCase, ConformanceFixture }

export function conformanceCases(provider: Provider, fixture: ConformanceFixture): ConformanceCase[] {
  return [
    ...commonCases(provider, fixture),
    ...(provider.kind === 'model' ? modelCases(provider, fixture) : agentCases(provider, fixture)),
  ]
}

function commonCases(provider: Provider, { settings, refused }: ConformanceFixture): ConformanceCase[] {
  const cases = [
    caseOf('the provider and each option have a description of one line', async () => {
      for (const text of [provider.description, ...Object.values(provider.options)]) {
        demand(
          typeof text === 'string' && text !== '' && !text.includes('\n'),
          `a description must be one line: ${JSON.stringify(text)}`,
        )
      }
    }),
    caseOf('check accepts settings that work', async () => provider.check?.(settings)),
    caseOf('program names a program that is there, if it names one', async () => {
      const program = provider.program?.(settings)
      const named: unknown[] = Object.entries(program ?? { name: 'sh' }).flat()
      demand(
        named.length === 2 && ['name', 'shell'].includes(named[0] as string) && typeof named[1] === 'string',
        `program must return { name } or { shell }: ${JSON.stringify(program)}`,
      )
      await findProgram(program, settings.workspace, neverSignal())
    }),
    caseOf('ready accepts settings that work', async () =>
      provider.ready?.(settings, { signal: neverSignal() }),
    ),
  ]
  if (provider.models !== undefined) {
    cases.push(
      caseOf('models lists each model once', async () => {
        const listed = (await provider.models?.(settings, { signal: neverSignal() })) ?? []
        const ids = listed.map(({ id }) => id)
        demand(
          ids.every((id) => typeof id === 'string' && id !== ''),
          'each model must have an id',
        )
        demand(new Set(ids).size === ids.length, 'a model must be listed once')
      }),
    )
  }
  if (refused === undefined) return cases
  const refuses = caseOf('check refuses settings that cannot work as misconfigured', async () => {
    const type = await failureOf(async () => provider.check?.(refused))
    demand(
      type === 'misconfigured' || type === 'authentication',
      `the failure type must be misconfigured or authentication: ${type}`,
    )
  })
  return [...cases, refuses]
}

function modelCases(provider: ModelProvider, fixture: ConformanceFixture): ConformanceCase[] {
  const ask = (settings: ProviderSettings, prompt: string, signal: AbortSignal): Promise<ModelEvent[]> => {
    const messages = (): { role: 'user'; content: string }[] => [{ role: 'user', content: prompt }]
    const request = { ...settings, prompt, messages, responses_before: 0, attempt: 1, tools: [] }
    return collect(provider.complete(request, { signal }), MODEL_EVENTS)
  }
  const answers = caseOf(
    'a request returns text and ends after exactly one stop, also when it is repeated',
    async () => {
      for (const _ of [1, 2]) {
        const events = await ask(fixture.settings, fixture.prompt, neverSignal())
        demand(
          events.filter(({ type }) => type === 'stop').length === 1 && events.at(-1)?.type === 'stop',
          'a response must end with its only stop',
        )
        const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
        demand(
          text.includes(fixture.expected),
          `the reply must contain ${JSON.stringify(fixture.expected)}: ${JSON.stringify(text.slice(0, 200))}`,
        )
      }
    },
  )
  const { slow, failing, refuses: refused, tools, reasons } = fixture
  return [
    answers,
    ...(tools === undefined ? [] : toolCases(provider, tools)),
    ...(reasons === undefined ? [] : reasoningCases(provider, reasons)),
    ...(slow === undefined
      ? []
      : [stopCase((signal) => ask(slow.settings, slow.prompt, signal), slow.withinMs)]),
    ...(failing === undefined ? [] : [failureCase(() => ask(failing, fixture.prompt, neverSignal()))]),
    ...(refused === undefined
      ? []
      : [refusalCase(() => ask(refused.settings, refused.prompt, neverSignal()))]),
  ]
}
