import DefaultTheme from 'vitepress/theme'
import './images.css'

export default DefaultTheme
