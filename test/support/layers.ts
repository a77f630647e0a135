/** The layers of the code, lowest first. A layer imports only from itself and from those before it. */
export const LAYERS = [
  'src/start',
  'src',
  'src/host',
  'src/files',
  'src/storage',
  'src/session',
  'src/provider',
  'src/tree',
  'src/mail',
  'src/turn',
  'src/recovery',
  'src/audit',
  'src/dispatch',
  'src/operations',
  'src/command',
  'commands',
]
