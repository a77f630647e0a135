/** The shapes of the API, as openapi-typescript makes them from the server's own document. */
import type { components, operations } from '../../../../../test/serve/generated/api.js'

export type { operations } from '../../../../../test/serve/generated/api.js'

type Schemas = components['schemas']

export type CorruptAgent = Schemas['corrupt_agent']
export type ListedAgent = Schemas['agent'] | CorruptAgent
export type ShownAgent = Schemas['shown_agent']
export type Wait = Schemas['wait']
export type PendingCalls = Schemas['pending_calls']
export type SessionRecord = Schemas['record_page']['records'][number]
export type RecordOf<Kind extends SessionRecord['kind']> = Extract<SessionRecord, { kind: Kind }>
export type Actor = Schemas['actor']
export type Content = Schemas['content']
export type Mail = Schemas['mail']
export type SearchPage = Schemas['search_page']
export type SearchMatch = SearchPage['matches'][number]
export type UsageRow = Schemas['usage_row']
export type UsageReport = Schemas['usage_report']
export type ProblemBody = Schemas['problem']

/** The JSON of a success. */
export type AnswerOf<Id extends keyof operations> = JsonOf<operations[Id]['responses'], 200 | 201 | 202>

type JsonOf<Responses, Status> = Status extends keyof Responses
  ? Responses[Status] extends { content: { 'application/json': infer Json } }
    ? Json
    : never
  : never

export type BodyOf<Id extends keyof operations> = operations[Id] extends {
  requestBody: { content: { 'application/json': infer Body } }
}
  ? Body
  : undefined
