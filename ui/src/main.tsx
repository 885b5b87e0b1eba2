import { render } from 'preact'
import { App } from './app.tsx'
import { applyTheme } from './theme.ts'
import './styles/base.css'
import './styles/components.css'
import './styles/screens.css'

applyTheme()
const root = document.getElementById('app')
if (root) render(<App />, root)
