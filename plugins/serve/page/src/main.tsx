import { render } from 'preact'
import { refusal } from './api/client.js'
import { dropToken, takeTokenFromAddress } from './api/token.js'
import { connection } from './state/connection.js'
import { applyTheme } from './state/theme.js'
import { App } from './views/app.js'

takeTokenFromAddress()
applyTheme()
refusal.onRefused = () => {
  dropToken()
  connection.set('refused')
}
render(<App />, document.getElementById('page') as HTMLElement)
