/** Every limit on a size, a count or a time. The name ends with the unit. */
export const limits = {
  nameCharactersMax: 64,
  messageBytesMax: 10 * 1024 * 1024,
  replyBytesMax: 10 * 1024 * 1024,
  /** The data that a provider needs to reach its kept server again. */
  serverHandleBytesMax: 64 * 1024,
  /** The next command stops a kept server that was idle for this long. */
  serverIdleMs: 30 * 60 * 1000,
  /** The state that a provider gets back in its next turn. In base64 it must fit in a line. */
  providerStateBytesMax: 512 * 1024,
  lineBytesMax: 1024 * 1024,
  /** The size of a bundle before its compression. */
  bundleBytesMax: 1024 * 1024 * 1024,
  bundleManifestBytesMax: 16 * 1024 * 1024,
  /** How many bytes at the end of a log are checked again: by a reader, and before an append. `log_crc` covers the latter. */
  logCheckedForReadBytes: 16 * 1024,
  logCheckedForAppendBytes: 256 * 1024,
  /** Larger content is stored in a blob. */
  inlineBytesMax: 64 * 1024,
  keyCharactersMax: 256,
  /** Keys in the snapshot, and how many of them may be missing from the key index before it is written again. */
  keysInStateMax: 128,
  keysLateMax: 64,
  keysKeptMin: 1000,
  keysKeptMs: 30 * 24 * 3600 * 1000,
  /** Ids of delivered mail in the state. The files of older mail are already unlinked and synced (durability rule 9). */
  deliveredIdsKeptMin: 1000,
  /** Resume tokens in the state, so that a late one gets a precise error. */
  tokensKept: 100,
  /** Responses in a row whose calls all have arguments that cannot be read. The turn then fails. */
  spoiledResponsesMax: 3,
  /** Shorter conversations that a refused request tries. */
  shorterTrialsMax: 2,
  /** A turn may drop refused results of calls so often in a row. Then it fails. */
  droppedInARowMax: 3,
  /** Model requests in one run, without --max-steps. */
  stepsMax: 200,
  /** Tool calls in one response, and characters in a name or id: together they must fit in a line. */
  callsMax: 128,
  callNameCharactersMax: 256,
  /** The length of a model's name as a provider reports it, and the number of models in one usage. */
  modelNameCharactersMax: 256,
  modelsMax: 32,
  /** The stack traces in the record of a failure. */
  detailCharactersMax: 8000,
  /** A note that a program shows to the user during a turn, besides its text. */
  noteCharactersMax: 2000,
  /** Notes of one program's turn that go to the log. Further notes are only shown. */
  notesRecordedMax: 200,
  /** The end of a program's stderr that goes to the log. */
  stderrBytesKept: 64 * 1024,
  /** Nesting of a tool's input. Every reader must be able to parse it again, even inside a call of ours. */
  inputLevelsMax: 100,
  /** The beginning of a call's arguments that could not be read, and the reason. */
  argumentsErrorCharactersMax: 500,
  /** Call inputs stored in the line of one response. Further inputs go to blobs. */
  callInputsBytesMax: 256 * 1024,
  /** The provider's own items in one response. */
  itemsBytesMax: 32 * 1024 * 1024,
  /** Inputs of all calls that one approval shows, together. */
  asksCharactersMax: 64 * 1024,
  /** Tool output that the model receives. The full output goes to a blob, up to toolOutputBytesMax. */
  toolResultBytesMax: 32 * 1024,
  toolOutputBytesMax: 10 * 1024 * 1024,
  /** A message from an agent program to substrat's tools. */
  mcpLineBytesMax: 19 * 1024 * 1024,
  /** The tool descriptions of one server. Every model request contains them. */
  serverToolsBytesMax: 512 * 1024,
  /** The longest wait for a provider that asks to retry later. */
  retryAfterMsMax: 30 * 24 * 3600 * 1000,
  /** A file in the prompt. */
  promptFileBytesMax: 64 * 1024,
  promptBytesMax: 256 * 1024,
  /** A conversation as text, for a provider that does not have it. */
  seedBytesMax: 256 * 1024,
  inboxMessagesMax: 1000,
  /** Room for a message of messageBytesMax in which JSON escapes every byte. */
  mailFileBytesMax: 64 * 1024 * 1024,
  /** Notifications, responses and errors delivered in one turn. */
  mailsTakenMax: 100,
  mailsTakenBytesMax: 1024 * 1024,
  remindersMax: 100,
  schedulesMax: 100,
  /** With `missed: all`: more missed slots than this get one turn for all of them. */
  slotsMadeUpMax: 100,
  /** With `missed: skip`: a slot that begins later than this counts as missed. */
  slotLateMs: 5 * 60 * 1000,
  /** Missed slots that a message lists by their times. */
  slotsNamedMax: 20,
  /** Pending outbound messages of one agent to one target. A further one drops the oldest of them. */
  outboundMax: 100,
  /** How long a target may ask to be left alone. */
  outboundRetryAfterMsMax: 3600 * 1000,
  /** A longer pause before the next attempt is left to a later command. */
  outboundPauseMsMax: 10_000,
  /** How long the end of a command waits for messages that are being sent, and how long that of `deliver` and `recover` does. */
  outboundWaitMs: 2000,
  outboundDeliverWaitMs: 30_000,
  /** Agents whose messages one command sends at once, and requests to one target. */
  outboundAgentsMax: 64,
  outboundRequestsMax: 8,
  /** The text of a notification, such as the beginning of a reply. */
  notificationCharactersMax: 2000,
  /** Refusals with a key in the state. A further one takes the place of the newest. */
  refusedKeysMax: 100,
  /** Then a further key is recorded once in this time, so that a cron with a new key each minute does not grow the log. */
  refusalPauseMs: 12 * 3600 * 1000,
  refusalCharactersMax: 500,
  /** Ids of received messages in the state of a channel, so that the platform may send them again. */
  channelIdsKeptMin: 1000,
  /** Messages from the platform that one batch of a channel has. */
  channelMessagesMax: 100,
  /** A field of a message from a channel plugin, other than its text. */
  channelFieldCharactersMax: 4096,
  /** Parts of a long reply in a thread. The rest is left out. */
  channelPartsMax: 20,
  /** Living agents of one channel. */
  channelAgentsMax: 10_000,
  metadataKeysMax: 64,
  metadataBytesMax: 16 * 1024,
  /** Automatic attempts without progress before only a person can continue the turn. */
  barrenAttemptsMax: 2,
  /** How long a delivery waits for a holder that runs no turn, such as `set`, which does not read the inbox afterwards. */
  shortLockWaitMs: 2000,
  /** How long after the end of a lease its leash may still be ending programs. Another host continues their turn after that. */
  leashMarginMs: 5000,
  /** Queued turns that one command runs after its own. */
  turnsDrainedMax: 100,
} as const
