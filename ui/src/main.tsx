import { render } from 'preact'
import { App } from './app.tsx'
import { applyTheme } from './theme.ts'
import { takeToken } from './token.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/components.css'
import './styles/screens.css'
import './styles/play.css'
import './styles/run.css'
import './styles/runs.css'
import './styles/approvals.css'
import './styles/token.css'

applyTheme()
takeToken()
const root = document.getElementById('app')
if (root) render(<App />, root)
