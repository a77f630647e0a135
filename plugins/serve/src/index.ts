/** The module that oclif loads for the command `serve`, and for no other. */
import { Serve } from './serve.js'

export default { COMMANDS: { serve: Serve } }
