/** Every bound on a size or a count, with its unit last. */
export const limits = {
  nameCharactersMax: 64,
  messageBytesMax: 10 * 1024 * 1024,
  replyBytesMax: 10 * 1024 * 1024,
  /** How a server that was kept is reached. */
  serverHandleBytesMax: 64 * 1024,
  /** A server that was not used for so long is stopped by the next command that comes by. */
  serverIdleMs: 30 * 60 * 1000,
  /** What a provider wants back at its next turn; in base64 it must fit a line. */
  providerStateBytesMax: 512 * 1024,
  lineBytesMax: 1024 * 1024,
  /** How far back the end of a log is looked at again: by who only reads, and by who is about to append. */
  logCheckedForReadBytes: 16 * 1024,
  logCheckedForAppendBytes: 256 * 1024,
  /** Content over this goes to a blob. */
  inlineBytesMax: 64 * 1024,
  keyCharactersMax: 256,
  /** Keys that the snapshot has, and those of them that may be missing in the key index before that is written. */
  keysInStateMax: 128,
  keysLateMax: 64,
  keysKeptMin: 1000,
  keysKeptMs: 30 * 24 * 3600 * 1000,
  /** Ids of delivered mail that the state remembers; older ones are unlinked and synced (durability rule 9). */
  deliveredIdsKeptMin: 1000,
  /** Resume tokens that the state remembers, so that a late one is refused by name. */
  tokensKept: 100,
  /** Requests to the model in one run, where nothing else is said. */
  stepsMax: 200,
  /** Tool calls of one response, and the length of the name or id of one: together they must fit a line. */
  callsMax: 128,
  callNameCharactersMax: 256,
  /** The stacks behind a failure, in its record. */
  detailCharactersMax: 8000,
  /** What a program tells its person in mid-turn, beside its text. */
  noteCharactersMax: 2000,
  /** Levels of a tool's input: what is written at all must be read again, also deep within a call of ours. */
  inputLevelsMax: 100,
  /** Inputs of the calls of one response that are in its line; the others go to blobs. */
  callInputsBytesMax: 256 * 1024,
  /** Characters of the inputs that a person is asked about, of all calls together. */
  asksCharactersMax: 64 * 1024,
  /** Bytes of a tool's output that the model is given; the whole goes to a blob, up to toolOutputBytesMax. */
  toolResultBytesMax: 32 * 1024,
  toolOutputBytesMax: 10 * 1024 * 1024,
  /** A message that an agent's program sends to substrat's tools. */
  mcpLineBytesMax: 19 * 1024 * 1024,
  /** All that a tool server says of its tools: each request to the model has it. */
  serverToolsBytesMax: 512 * 1024,
  /** A provider that says to come back later than this is asked again then. */
  retryAfterMsMax: 30 * 24 * 3600 * 1000,
  /** A file that goes into the prompt. */
  promptFileBytesMax: 64 * 1024,
  promptBytesMax: 256 * 1024,
  /** A conversation in words, for a provider that has none of it. */
  seedBytesMax: 256 * 1024,
  inboxMessagesMax: 1000,
  /** A message of messageBytesMax, each of whose bytes JSON escapes. */
  mailFileBytesMax: 64 * 1024 * 1024,
  /** Notifications, responses and errors that one turn takes together. */
  mailsTakenMax: 100,
  mailsTakenBytesMax: 1024 * 1024,
  remindersMax: 100,
  metadataKeysMax: 64,
  metadataBytesMax: 16 * 1024,
  /** Attempts to go on by itself that added nothing, before a person has to ask. */
  barrenAttemptsMax: 2,
  /** How long a delivery waits for a holder without a turn, such as `set`: it does not read the inbox afterwards. */
  shortLockWaitMs: 2000,
  /** Turns that one command takes from the queue, after its own. */
  turnsDrainedMax: 100,
} as const
